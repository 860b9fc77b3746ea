// stall_watch: looks for ranks that can never go on, and reports them.
//
// Asked by nobody: it looks by itself.  Asks: rank, group_directory, store, slot_keeper, recorder.
// Every `look_period` the ranks say whether they wait. Those that have waited since the look before
// are held against what is open (wait_graph.hpp), and their processes against threads of theirs
// that could still act. Ranks found stuck are reported one look later, if none of them has gone on:
// they have then waited during the whole of the look, in whatever order it asked. Ranks that have
// got on with nothing for long are warned of though somebody might act, and so is a run in which
// nothing happens at all.
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/wait_graph.hpp"

namespace troupe {
namespace {

constexpr std::chrono::milliseconds look_period{300};

struct watch_state {};
using self_pointer = stall_watch_actor::stateful_pointer<watch_state>;

class stall_watch {
 public:
  stall_watch(self_pointer self, const run_surroundings& run, std::vector<rank_actor> ranks,
              group_directory_actor groups, store_actor store, slot_keeper_actor slots,
              recorder_actor recorder)
      : self_(self),
        run_(run),
        ranks_(std::move(ranks)),
        groups_(std::move(groups)),
        store_(std::move(store)),
        slots_(std::move(slots)),
        recorder_(std::move(recorder)),
        quiet_(run.warn_after, 5 * run.warn_after) {}

  void look_later() { self_->delayed_send(self_, look_period, look_for_stalls{}); }

  void look() {
    auto now = std::make_shared<picture>();
    auto left = std::make_shared<std::size_t>(ranks_.size());
    auto answered = [=, this] {
      if (--*left > 0) return;
      doubt(*now);
      consider(now);
    };
    for (const auto& rank : ranks_)
      self_->request(rank, caf::infinite, describe_wait{})
          .then(
              [=, this](const wait_described& of) {
                now->take(of);
                if (of.now == wait_described::state::ended)
                  quiet_.ended(of.rank);
                else
                  quiet_.saw(clock(), of.rank, of.progress);
                answered();
              },
              [=](caf::error&) { answered(); });
  }

 private:
  /// What the ranks said at one look.
  struct picture {
    std::vector<rank_wait> waits;
    std::map<rank_id, std::uint64_t> turns;  // of those that wait
    std::set<rank_id> ended;

    void take(const wait_described& of) {
      if (of.now == wait_described::state::ended) ended.insert(of.rank);
      if (of.now != wait_described::state::waits) return;
      waits.push_back(of.wait);
      turns.emplace(of.wait.rank, of.turn);
    }
    bool waits_since(rank_id rank, const picture& before) const {
      auto now = turns.find(rank), then = before.turns.find(rank);
      return now != turns.end() && then != before.turns.end() && now->second == then->second;
    }
  };

  nanos clock() const { return self_->clock().now().time_since_epoch(); }

  /// Warns of what has waited for long.
  void doubt(const picture& now) {
    auto waits = quiet_.due(clock());
    if (waits.empty()) return;
    with_open([=, this, ended = now.ended](std::vector<open_operation> open) {
      const wait_graph stuck{run_.world, waits, ended, open};
      if (!stuck.stuck().empty()) {
        warn(stuck, fmt::format("suspected deadlock, nothing has come of it for {} s: ",
                                seconds(quiet_.quiet_for(clock(), stuck.stuck()))));
        return quiet_.looked(clock(), true);
      }
      std::set<rank_id> outside;
      if (!quiet_.all_quiet(clock(), outside)) return quiet_.looked(clock(), false);
      const wait_graph behind{run_.world, waits, ended, std::move(open), outside};
      if (!behind.stuck().empty())
        warn(behind, fmt::format("no rank has called anything for {} s: ",
                                 seconds(quiet_.quiet_for(clock(), behind.stuck()))));
      quiet_.looked(clock(), !behind.stuck().empty());
    });
  }
  static long long seconds(nanos time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  }
  void warn(const wait_graph& waits, const std::string& how) {
    auto what = waits.describe();
    what.text = how + waits.who_waits_for_whom();
    self_->send(recorder_, record_warning{std::move(what)});
  }

  void consider(const std::shared_ptr<picture>& now) {
    auto before = std::exchange(before_, now);
    auto suspected = std::exchange(suspected_, nullptr);
    auto still = [&](rank_id rank) { return now->waits_since(rank, *before); };
    if (suspected && std::all_of(suspected->stuck().begin(), suspected->stuck().end(), still)) {
      self_->send(recorder_, record_finding{suspected->describe()});
      return;  // the run ends of it
    }
    std::vector<rank_wait> waits;
    if (before)
      std::copy_if(now->waits.begin(), now->waits.end(), std::back_inserter(waits),
                   [&](const rank_wait& wait) { return still(wait.rank); });
    if (waits.empty()) return look_later();
    with_open([=, this](std::vector<open_operation> open) {
      const wait_graph stuck{run_.world, waits, now->ended, std::move(open)};
      if (stuck.stuck().empty()) return look_later();
      examine(now, std::move(waits), stuck.stuck());
    });
  }

  /// Once more without the ranks whose processes could still act, and by what is open only then.
  void examine(const std::shared_ptr<picture>& now, std::vector<rank_wait> waits,
               const std::set<rank_id>& stuck) {
    std::erase_if(waits, [&](const rank_wait& wait) { return !stuck.contains(wait.rank); });
    self_->request(slots_, caf::infinite, examine_processes{waits})
        .then(
            [=, this](const processes_examined& seen) mutable {
              with_open([=, this](std::vector<open_operation> open) mutable {
                std::erase_if(waits, [&](const rank_wait& wait) {
                  return std::find(seen.may_act.begin(), seen.may_act.end(), wait.rank)
                             != seen.may_act.end()
                         && !is_hopeless(wait, now->ended, open);
                });
                auto graph =
                    std::make_unique<wait_graph>(run_.world, waits, now->ended, std::move(open));
                if (!graph->stuck().empty()) suspected_ = std::move(graph);
                look_later();
              });
            },
            [](caf::error&) {});
  }

  /// The leading thread waits, and only ranks that have ended could do something about it: what
  /// other threads of its process do is no help, unless they are its companions'.
  bool is_hopeless(const rank_wait& wait, const std::set<rank_id>& ended,
                   const std::vector<open_operation>& open) const {
    const auto is_own = [&](rank_id rank) { return lead_of(rank, run_.world) == wait.rank; };
    for (const auto& operation : open)
      for (const auto& caller : operation.callers)
        if (is_own(caller.rank)
            && std::any_of(operation.lacking.begin(), operation.lacking.end(),
                           [&](rank_id rank) { return is_own(rank) && rank != caller.rank; }))
          return false;
    return !wait.takes_signals && !wait_graph{run_.world, {wait}, ended, open}.stuck().empty();
  }

  template <class Then>
  void with_open(Then then) {
    self_->request(groups_, caf::infinite, describe_open{})
        .then(
            [=, this](const open_described& groups) {
              self_->request(store_, caf::infinite, describe_open{})
                  .then(
                      [=](const open_described& keys) mutable {
                        auto all = groups.open;
                        all.insert(all.end(), keys.open.begin(), keys.open.end());
                        then(std::move(all));
                      },
                      [](caf::error&) {});
            },
            [](caf::error&) {});
  }

  self_pointer self_;
  run_surroundings run_;
  std::vector<rank_actor> ranks_;
  group_directory_actor groups_;
  store_actor store_;
  slot_keeper_actor slots_;
  recorder_actor recorder_;
  std::shared_ptr<const picture> before_;
  std::unique_ptr<const wait_graph> suspected_;
  quiet_ranks quiet_;
};

stall_watch_actor::behavior_type behave(self_pointer self, const run_surroundings& run,
                                        std::vector<rank_actor> ranks, group_directory_actor groups,
                                        store_actor store, slot_keeper_actor slots,
                                        recorder_actor recorder) {
  auto watch =
      std::make_shared<stall_watch>(self, run, std::move(ranks), std::move(groups),
                                    std::move(store), std::move(slots), std::move(recorder));
  watch->look_later();
  return {[=](const look_for_stalls&) { watch->look(); }};
}

}  // namespace

stall_watch_actor spawn_stall_watch(caf::actor_system& system, const run_surroundings& run,
                                    std::vector<rank_actor> ranks, group_directory_actor groups,
                                    store_actor store, slot_keeper_actor slots,
                                    recorder_actor recorder) {
  return system.spawn(behave, run, std::move(ranks), std::move(groups), std::move(store),
                      std::move(slots), std::move(recorder));
}

}  // namespace troupe
