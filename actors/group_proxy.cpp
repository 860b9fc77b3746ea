// group_proxy: stands for one communicator; decides when its collectives may run, and has workers
// sum them.
//
// Asked by: rank (join_collective, abort_group), group_directory (withdraw_member, describe_open).
// Asks: recorder; the worker pool. Invariants: a sequence number resolves at most once; whoever
// joined hears of it, also when the proxy ends. Limits: payloads are the ranks' own leases; nothing
// is copied here. Not here: what makes calls match (rendezvous.hpp, point_to_point.hpp); bytes
// (collective_execution.hpp).
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <optional>

#include "actors/errors.hpp"
#include "actors/group_findings.hpp"
#include "actors/group_state.hpp"
#include "actors/interfaces.hpp"
#include "actors/run_tables.hpp"
#include "gpu/worker_pool.hpp"

namespace troupe {

struct fold_done {
  sequence_number sequence;
  reduction_tree::step step;
};
struct reduction_finished {
  sequence_number sequence;
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::fold_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::reduction_finished)

namespace troupe {
namespace {

using proxy_self =
    group_proxy_actor::extend<caf::reacts_to<fold_done>, caf::reacts_to<reduction_finished>>;

/// A fold of fewer bytes runs in the handler: a worker costs more than it (and it stays far below
/// 100 µs).
constexpr std::uint64_t bytes_in_handler_max = 128 * KiB;

using self_pointer = proxy_self::stateful_pointer<group_state>;

class group_proxy {
 public:
  group_proxy(self_pointer self, const run_surroundings& run, const communicator_entry& entry,
              recorder_actor recorder)
      : self_(self), run_(run), id_(entry.id), rules_(entry.rules), recorder_(std::move(recorder)) {
    auto name = entry.name.empty() ? fmt::format("communicator {:x}", entry.id.value) : entry.name;
    self_->state.calls.emplace(entry.members, name);
    self_->state.messages.emplace(entry.members, entry.rules, name);
    self_->state.pools = run.pools;
    findings_.emplace(id_, *self_->state.calls);
  }

  caf::result<collective_resolved> join(const join_collective& join) {
    const auto size = static_cast<std::uint32_t>(state().calls->members().size());
    const auto given =
        input_count(join.issue.call, join.group_rank, size) * size_of(join.issue.call.type);
    auto bytes = contribution::accept(join.issue.payload, given, *run_.pools);
    if (!bytes) {
      if (!is_point_to_point(join.issue.call.op)) {
        state().calls->fail(join.issue.sequence, bytes.error());
        state().fail(join.issue.sequence, bytes.error());
      }
      report(bytes.error(), join.issue.sequence,
             {group_findings::caller(join.group_rank, join.issue.call, join.call_site)});
      return to_caf(bytes.error());
    }
    if (aborted_) {
      bytes->set_readers(0, *run_.pools);
      return to_caf(*aborted_);
    }
    return is_point_to_point(join.issue.call.op) ? post(join, std::move(*bytes))
                                                 : meet(join, std::move(*bytes));
  }

  void step_done(const fold_done& done) {
    auto found = state().meetings.find(done.sequence);
    if (found == state().meetings.end()) return free_abandoned(done.sequence);
    --found->second.jobs;
    run_steps(done.sequence, found->second, found->second.execution->folded(done.step));
    go_on(done.sequence);
  }

  void resolve(sequence_number sequence) {
    auto found = state().meetings.extract(sequence);
    if (found.empty()) return;
    auto members = state().calls->take(sequence);
    warn(findings_->complete(sequence, members));
    std::vector<collective_call> calls;
    for (auto& member : members) calls.push_back(std::move(member.call));
    auto results = found.mapped().execution->results(calls);
    ++run_.tables->collectives;
    ++run_.tables->resolutions;
    const auto depth = found.mapped().depth + 1;
    run_.tables->note_depth(depth, id_);
    for (auto& [member, held] : found.mapped().waiting)
      held.deliver(collective_resolved{results[member], -1, depth});
  }

  void withdraw(const withdraw_member& gone) {
    const auto& members = state().calls->members();
    for (std::uint32_t member = 0; member < members.size(); ++member) {
      if (lead_of(members[member], run_.world) != gone.rank) continue;
      auto cause = gone.cause;
      if (members[member] != gone.rank)
        cause.context += fmt::format(", and rank {} with it", members[member].value);
      state().withdrawn.emplace(member, cause);
      for (auto sequence : state().calls->missing(member)) fail_for_lack(sequence, member);
      // What others expect of it or sent to it is nothing yet: perhaps they never wait for that.
      for (auto number : state().messages->withdraw(member))
        state().fail_message(number, {errc::lost_rank, cause.context});
    }
  }

  void abort(const abort_group& by) {
    if (aborted_) return;
    aborted_ = error{errc::lost_rank,
                     fmt::format("rank {} has aborted {}", by.rank.value, state().calls->name())};
    for (const auto& open : state().calls->open()) {
      state().calls->fail(open.sequence, *aborted_);
      state().fail(open.sequence, *aborted_);
    }
    for (const auto& open : state().messages->open()) {
      state().messages->forget(open.number);
      state().fail_message(open.number, *aborted_);
    }
  }

  open_described describe() const {
    open_described all;
    const auto& calls = *self_->state.calls;
    const auto& members = calls.members();
    for (const auto& open : calls.open()) {
      open_operation one{open.operation, id_, open.sequence, {}, {}, false, false};
      for (std::size_t n = 0; n < open.joined.size(); ++n)
        one.callers.push_back({members[open.joined[n]], open.calls[n]->operation,
                               calls.describe_join(open.joined[n], open.sequence, *open.calls[n]),
                               open.calls[n]->call_site});
      for (auto member : open.missing) one.lacking.push_back(members[member]);
      all.open.push_back(std::move(one));
    }
    for (const auto& open : self_->state.messages->open()) {
      const bool any = open.peer == any_source;
      open_operation one{open.name, id_, {}, {}, {}, any, false};
      one.callers.push_back({members[open.group_rank],
                             self_->state.posted.at(open.number).operation, open.text,
                             open.call_site});
      if (any)
        one.lacking = members;
      else
        one.lacking.push_back(members[static_cast<std::size_t>(open.peer)]);
      all.open.push_back(std::move(one));
    }
    return all;
  }

 private:
  group_state& state() { return self_->state; }

  void report(const error& why, sequence_number sequence,
              std::vector<group_findings::concerned> who) {
    self_->send(recorder_, record_finding{findings_->of(why, sequence, std::move(who))});
  }
  void warn(std::optional<finding> what) {
    if (what) self_->send(recorder_, record_warning{std::move(*what)});
  }

  void fail_for_lack(sequence_number sequence, std::uint32_t member) {
    const auto why = findings_->lack_of(state().withdrawn.at(member), sequence);
    state().calls->fail(sequence, why);
    report(why, sequence, {{member}});
    state().fail(sequence, why);
  }

  caf::result<collective_resolved> meet(const join_collective& join, contribution bytes) {
    const auto sequence = join.issue.sequence;
    const bool failed_before = state().calls->has_failed(sequence);
    auto joined = state().calls->join(join.group_rank, sequence,
                                      {join.issue.call, join.call_site, join.issue.operation});
    if (!joined) {
      bytes.set_readers(0, *run_.pools);
      if (!failed_before) {
        std::vector<group_findings::concerned> ranks;
        for (const auto& [group_rank, call] : state().calls->disagreed())
          ranks.push_back(group_findings::caller(group_rank, call.call, call.call_site));
        report(joined.error(), sequence, std::move(ranks));
      }
      if (state().calls->has_failed(sequence))
        state().fail(sequence, joined.error());  // also those who wait already
      return to_caf(joined.error());
    }
    auto held = self_->make_response_promise<collective_resolved>();  // only now: a promise made is
                                                                      // a reply owed
    auto& meeting = state().meetings[sequence];
    if (!meeting.execution)
      meeting.execution = std::make_shared<collective_execution>(
          *run_.memory, *run_.pools, join.issue.call,
          static_cast<std::uint32_t>(state().calls->members().size()));
    meeting.waiting.emplace(join.group_rank, held);
    meeting.all_joined = *joined == rendezvous::joined::complete;
    meeting.depth = std::max(meeting.depth, join.depth);
    run_steps(sequence, meeting, meeting.execution->arrived(join.group_rank, std::move(bytes)));
    if (auto member = lacks_for_ever(sequence))
      fail_for_lack(sequence, *member);
    else
      go_on(sequence);
    return held;
  }

  /// A member that is gone and has not joined the collective.
  std::optional<std::uint32_t> lacks_for_ever(sequence_number sequence) {
    for (const auto& [member, cause] : state().withdrawn) {
      const auto lacking = state().calls->missing(member);
      if (std::find(lacking.begin(), lacking.end(), sequence) != lacking.end()) return member;
    }
    return std::nullopt;
  }

  void free_abandoned(sequence_number sequence) {
    auto found = state().failing.find(sequence);
    if (found == state().failing.end() || --found->second.jobs > 0) return;
    found->second.execution->abandon();
    state().failing.erase(found);
  }

  void run_steps(sequence_number sequence, group_state::meeting& meeting,
                 std::vector<reduction_tree::step> steps) {
    while (!steps.empty()) {
      auto step = std::move(steps.back());
      steps.pop_back();
      if (meeting.execution->cost(step) <= bytes_in_handler_max) {
        meeting.execution->fold(step);
        for (auto& next : meeting.execution->folded(step)) steps.push_back(std::move(next));
        continue;
      }
      ++meeting.jobs;
      run_.workers->submit([execution = meeting.execution, sequence, step = std::move(step),
                            me = caf::actor_cast<caf::actor>(self_)] {
        execution->fold(step);
        caf::anon_send(me, fold_done{sequence, step});
      });
    }
  }

  void go_on(sequence_number sequence) {
    auto found = state().meetings.find(sequence);
    if (found == state().meetings.end()) return;
    auto& meeting = found->second;
    if (!meeting.all_joined || !meeting.execution->complete()) return;
    if (!meeting.execution->needs_finish()) return resolve(sequence);
    ++meeting.jobs;
    run_.workers->submit(
        [execution = meeting.execution, sequence, me = caf::actor_cast<caf::actor>(self_)] {
          execution->finish();
          caf::anon_send(me, reduction_finished{sequence});
        });
  }

  caf::result<collective_resolved> post(const join_collective& join, contribution bytes) {
    const auto& call = join.issue.call;
    const auto number = ++state().tickets;
    std::optional<point_to_point::ticket> met;
    auto match = state().messages->post(join.group_rank, call, join.call_site, number, met);
    if (!match) {
      bytes.set_readers(0, *run_.pools);
      std::vector<group_findings::concerned> ranks{
          group_findings::caller(join.group_rank, call, join.call_site)};
      if (met) {
        const auto& other = state().posted.at(*met);
        ranks.push_back(group_findings::caller(other.poster, other.call, other.call_site));
        state().fail_message(*met, match.error());
      }
      report(match.error(), join.issue.sequence, std::move(ranks));
      return to_caf(match.error());
    }
    if (rules_ == semantics::nccl && !call.batched)
      warn(findings_->unbatched(join.group_rank, call, join.call_site));
    auto held = self_->make_response_promise<collective_resolved>();
    const auto size = bytes.view().size();
    state().posted.emplace(number,
                           group_state::message_call{held, std::move(bytes), join.group_rank,
                                                     join.issue.operation, call, join.call_site});
    if (*match)
      deliver(**match);
    else if (call.op == operation::send && fits_on_the_way(join.group_rank, call.root, size)) {
      state().posted.at(number).held.reset();
      held.deliver(collective_resolved{nullptr, -1, 0});
    }
    return held;
  }

  void deliver(const point_to_point::match& match) {
    auto send = state().posted.extract(match.send), recv = state().posted.extract(match.recv);
    const auto& bytes = send.mapped().bytes;
    const auto size = bytes.view().size();
    collective_execution::pieces pieces;
    if (size) pieces = std::make_shared<const std::vector<payload>>(1, bytes.slice(0, size));
    bytes.set_readers(size ? 1 : 0, *run_.pools);
    ++run_.tables->resolutions;
    recv.mapped().held->deliver(
        collective_resolved{pieces, static_cast<std::int32_t>(match.source), 0});
    if (send.mapped().held)
      send.mapped().held->deliver(collective_resolved{nullptr, -1, 0});
    else
      state().on_the_way[{match.source, match.destination}] -= size;
  }

  /// Counts the bytes in, if a send may complete before its recv.
  bool fits_on_the_way(std::uint32_t from, std::int32_t to, std::uint64_t size) {
    if (run_.eager_bytes == 0) return false;
    auto& bytes = state().on_the_way[{from, static_cast<std::uint32_t>(to)}];
    if (size > run_.eager_bytes || bytes > run_.eager_bytes - size) return false;
    bytes += size;
    return true;
  }

  self_pointer self_;
  run_surroundings run_;
  communicator_id id_;
  semantics rules_;
  recorder_actor recorder_;
  std::optional<group_findings> findings_;
  std::optional<error> aborted_;
};

proxy_self::behavior_type behave(self_pointer self, const run_surroundings& run,
                                 const communicator_entry& entry, recorder_actor recorder) {
  auto proxy = std::make_shared<group_proxy>(self, run, entry, std::move(recorder));
  return {
      [=](const join_collective& join) { return proxy->join(join); },
      [=](const withdraw_member& gone) { proxy->withdraw(gone); },
      [=](const abort_group& by) { proxy->abort(by); },
      [=](const describe_open&) { return proxy->describe(); },
      [=](const fold_done& done) { proxy->step_done(done); },
      [=](const reduction_finished& done) { proxy->resolve(done.sequence); },
  };
}

}  // namespace

group_proxy_actor spawn_group_proxy(caf::actor_system& system, const run_surroundings& run,
                                    const communicator_entry& entry, recorder_actor recorder) {
  return system.spawn(behave, run, entry, std::move(recorder));
}

}  // namespace troupe
