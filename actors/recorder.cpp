// recorder: trace, journal and findings of the run. Collects what the cast reports; a worker writes
// it, one batch at a time.
//
// Asked by: rank, slot_keeper, group_proxy, coordinator.  Asks: the worker pool.
// Invariant: batches are written in the order they came. After the first failed write nothing more
// is written, and the failure is a finding (a full disk ends the run; the file is readable up to
// there).
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <optional>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/run_records.hpp"
#include "gpu/worker_pool.hpp"

namespace troupe {

struct batch_written {
  error why;
};
struct files_closed {
  error why;
  std::uint64_t trace_bytes{};
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::batch_written)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::files_closed)

namespace troupe {
namespace {

using recorder_self =
    recorder_actor::extend<caf::reacts_to<batch_written>, caf::reacts_to<files_closed>>;

struct recorder_state {
  std::vector<caf::typed_response_promise<finding_recorded>> watching;
  std::optional<caf::typed_response_promise<records_closed>> closing;

  ~recorder_state() {
    const auto over = to_caf({errc::lost_rank, "the run has ended"});
    for (auto& held : watching) held.deliver(over);
    if (closing) closing->deliver(over);
  }
};
using self_pointer = recorder_self::stateful_pointer<recorder_state>;

class record_keeper {
 public:
  record_keeper(self_pointer self, const run_surroundings& run) : self_(self), run_(run) {}

  template <class Record>
  void record(const Record& what) {
    if (!run_.records || failed_) return;
    pending_.emplace_back(what);
    write();
  }

  void find(const finding& what) {
    findings_.push_back(what);
    record(record_finding{what});
    for (auto& held : std::exchange(self_->state.watching, {}))
      held.deliver(finding_recorded{what});
  }

  void warn(const finding& what) {
    constexpr std::size_t warnings_max = 100;
    if (warnings_.size() >= warnings_max) return;
    warnings_.push_back(what);
    record(record_warning{what});
    if (run_.warn) run_.warn(what.text);
  }

  caf::result<finding_recorded> await() {
    if (!findings_.empty()) return finding_recorded{findings_.front()};
    auto held = self_->make_response_promise<finding_recorded>();
    self_->state.watching.push_back(held);
    return held;
  }

  caf::result<records_closed> close(const close_records& how) {
    if (!run_.records) return records_closed{findings_, warnings_, 0};
    self_->state.closing = self_->make_response_promise<records_closed>();
    how_ = how;
    write();
    return *self_->state.closing;
  }

  void written(const batch_written& done) {
    writing_ = false;
    fail(done.why);
    write();
  }

  void closed(const files_closed& done) {
    fail(done.why);
    self_->state.closing->deliver(records_closed{findings_, warnings_, done.trace_bytes});
    self_->state.closing.reset();
  }

 private:
  void fail(const error& why) {
    if (why.code == errc::none || failed_) return;
    failed_ = true;
    pending_.clear();
    find({why.code, {}, {}, {}, {}, {}, {}, why.context});
  }

  void write() {
    if (writing_) return;
    const bool last = pending_.empty() && how_;
    if (pending_.empty() && !last) return;
    writing_ = true;
    auto me = caf::actor_cast<caf::actor>(self_);
    if (last) {
      run_.workers->submit([records = run_.records, how = *how_, me] {
        auto done = records->close(how.outcome, how.wall_ns);
        caf::anon_send(me, files_closed{done ? error{} : done.error(), records->trace_bytes()});
      });
      return;
    }
    run_.workers->submit([records = run_.records, batch = std::exchange(pending_, {}), me] {
      auto done = records->write(batch);
      caf::anon_send(me, batch_written{done ? error{} : done.error()});
    });
  }

  self_pointer self_;
  run_surroundings run_;
  std::vector<finding> findings_, warnings_;
  std::vector<run_records::record> pending_;
  std::optional<close_records> how_;
  bool writing_ = false, failed_ = false;
};

recorder_self::behavior_type behave(self_pointer self, const run_surroundings& run) {
  auto keeper = std::make_shared<record_keeper>(self, run);
  return {
      [=](const record_nodes& nodes) { keeper->record(nodes); },
      [=](const record_slots& slots) { keeper->record(slots); },
      [=](const record_finding& what) { keeper->find(what.what); },
      [=](const record_warning& what) { keeper->warn(what.what); },
      [=](const record_process& process) { keeper->record(process); },
      [=](const await_finding&) { return keeper->await(); },
      [=](const close_records& how) { return keeper->close(how); },
      [=](const batch_written& done) { keeper->written(done); },
      [=](const files_closed& done) { keeper->closed(done); },
  };
}

}  // namespace

recorder_actor spawn_recorder(caf::actor_system& system, const run_surroundings& run) {
  return system.spawn(behave, run);
}

}  // namespace troupe
