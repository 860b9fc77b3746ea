// rank: a process' logical ranks: its lead and that one's companions (messages/companions.hpp):
// their operations in order, the process' slot, their parts of the trace.
//
// Asked by: rank_port.  Asks: group_directory, group_proxy, store, slot_keeper, recorder.
// Invariants: a result leaves only while the process holds a slot (rank_turn.hpp); an operation's
// number says whose it is. A companion is there once it has opened a communicator.
// Not here: the wire (rank_port.cpp); what makes nodes (rank_member.hpp, rank_graph_builder.hpp).
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "actors/dependency_depth.hpp"
#include "actors/errors.hpp"
#include "actors/futile_turns.hpp"
#include "actors/interfaces.hpp"
#include "actors/outside.hpp"
#include "actors/payload_pools.hpp"
#include "actors/rank_member.hpp"
#include "actors/rank_state.hpp"
#include "actors/rank_turn.hpp"
#include "actors/run_tables.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

using self_pointer = rank_actor::stateful_pointer<rank_state>;

class logical_ranks {
 public:
  logical_ranks(self_pointer self, const run_surroundings& run, rank_id me,
                group_directory_actor groups, store_actor store, slot_keeper_actor slots,
                recorder_actor recorder)
      : self_(self),
        run_(run),
        me_(me),
        directory_(std::move(groups)),
        store_(std::move(store)),
        slots_(std::move(slots)),
        recorder_(std::move(recorder)),
        members_(me, run.world),
        page_(run.pools->page_of(me)) {}

  caf::result<slot_granted> take_slot() {
    notice_lost_slot();
    if (turn_.holds_slot()) return slot_granted{};
    auto held = self_->make_response_promise<slot_granted>();
    self_->state.wants_slot.push_back(held);
    if (turn_.wants_slot()) ask_slot(claim::works);
    return held;
  }

  caf::result<slot_granted> yield(const to_troupe::yielded& yielded) {
    notice_lost_slot();
    ++polls_;
    auto held = self_->make_response_promise<slot_granted>();
    self_->state.wants_slot.push_back(held);
    if (turn_.blocked({}) == rank_turn::next::give_up_slot)
      give_up(release_reason::yielded, {}, yielded.at_ns);
    if (turn_.wants_slot()) ask_slot(claim::polls);
    return held;
  }

  caf::result<group_ready> open(const to_troupe::open_communicator& wanted) {
    const auto why = members_.misfit(wanted);
    if (!why.empty() && wanted.companion != 0) return to_caf({errc::bad_input, why});
    auto& member = members_.enter(wanted.companion, now_ns());
    auto [at, fresh] = member.groups.try_emplace(wanted.communicator);
    if (!fresh) return group_ready{};
    auto& group = at->second;
    if (!why.empty()) {
      group.refused = to_caf({errc::bad_input, why});
      return *group.refused;
    }
    const auto mine = std::find(wanted.members.begin(), wanted.members.end(), member.me);
    group.group_rank = static_cast<std::uint32_t>(mine - wanted.members.begin());
    group.index =
        run_.tables->communicator({wanted.communicator, wanted.members, wanted.rules, wanted.name});
    group.stream = static_cast<std::uint16_t>(member.groups.size());
    group.size = static_cast<std::uint32_t>(wanted.members.size());
    auto held = self_->make_response_promise<group_ready>();
    self_->request(directory_, caf::infinite, open_group{member.me, wanted})
        .then(
            [this, &group, held](const group_opened& opened) mutable {
              group.proxy = opened.proxy;
              group.ready = true;
              held.deliver(group_ready{});
              for (auto& call : std::exchange(group.deferred, {})) call();
            },
            [&group, held](caf::error& why) mutable {
              group.refused = why;
              held.deliver(std::move(why));
              for (auto& call : std::exchange(group.deferred, {})) call();
            });
    return held;
  }

  void name_call_site(const to_troupe::call_site& site) {
    call_sites_[site.id] = run_.tables->call_site(site.text);
  }

  caf::result<operation_completed> issue(const to_troupe::issue& call) {
    notice_lost_slot();
    auto* caller = members_.caller(call.operation);
    auto* opened = caller ? caller->group(call.communicator) : nullptr;
    if (!opened)
      return to_caf({errc::bad_input,
                     fmt::format("rank {} calls {} on a communicator it has not opened",
                                 rank_of(me_, companion_of(call.operation), run_.world).value,
                                 describe(call.call))});
    auto& member = *caller;
    auto& group = *opened;
    if (group.refused) return *group.refused;
    if (answers().contains(call.operation)) return to_caf(twice(call.operation));
    auto held = self_->make_response_promise<operation_completed>();
    auto& answer = answers()[call.operation];
    answer.refuse = [held](const error& why) mutable { held.deliver(to_caf(why)); };
    answer.recorded = record(call, member, group);
    if (!is_point_to_point(call.call.op))
      answer.target = wait_target{call.communicator, call.sequence};
    turn_.issued(call.operation);
    ++calls_;
    futile_.calls();
    auto join = [this, me = member.me, &group, held, call, depth = depth_.now()] {
      if (group.refused)
        return settle(call.operation,
                      [held, why = *group.refused]() mutable { held.deliver(why); });
      auto site = call_sites_.find(call.site);
      auto text =
          site == call_sites_.end() ? std::string{} : run_.tables->call_site_text(site->second);
      self_
          ->request(group.proxy, caf::infinite,
                    join_collective{me, group.group_rank, call, std::move(text), depth})
          .then(
              [this, held, operation = call.operation](const collective_resolved& done) {
                if (done.depth) depth_.resolved(operation, done.depth);
                settle(operation, [held, operation, done]() mutable {
                  held.deliver(operation_completed{operation, done.pieces, done.source});
                });
              },
              [this, held, operation = call.operation](caf::error& why) {
                settle(operation, [held, why = std::move(why)]() mutable { held.deliver(why); });
              });
    };
    if (group.ready || group.refused)
      join();
    else
      group.deferred.emplace_back(std::move(join));
    return held;
  }

  caf::result<store_completed> ask(const to_troupe::store& ask) {
    notice_lost_slot();
    if (answers().contains(ask.operation)) return to_caf(twice(ask.operation));
    auto held = self_->make_response_promise<store_completed>();
    answers()[ask.operation].refuse = [held](const error& why) mutable {
      held.deliver(to_caf(why));
    };
    turn_.issued(ask.operation);
    ++calls_;
    futile_.calls();
    self_->request(store_, caf::infinite, ask_store{me_, ask.operation, ask.request})
        .then(
            [this, held, operation = ask.operation](const store_reply& reply) {
              settle(operation, [held, operation, reply]() mutable {
                held.deliver(store_completed{operation, reply});
              });
            },
            [this, held, operation = ask.operation](caf::error& why) {
              settle(operation, [held, why = std::move(why)]() mutable { held.deliver(why); });
            });
    return held;
  }

  void block(const to_troupe::blocked& blocked) {
    notice_lost_slot();
    waiting_threads_ = blocked.threads;
    takes_signals_ = blocked.takes_signals;
    ++goings_on_;
    switch (turn_.blocked(blocked.operations)) {
      case rank_turn::next::give_up_slot:
        give_up(blocked.reason, blocked.operations, blocked.at_ns);
        break;
      case rank_turn::next::take_slot:
        ask_slot(claim::works);
        break;
      case rank_turn::next::nothing:
        break;
    }
  }

  void await(const to_troupe::awaited& awaited) {
    members_.awaited(awaited.operations, since_start(awaited.at_ns));
    depth_.awaited(awaited.operations);
  }
  void mark(const to_troupe::mark& mark) {
    if (mark.kind > static_cast<std::uint8_t>(marker_kind::end)) return;
    members_.lead().graph.marked(static_cast<marker_kind>(mark.kind), since_start(mark.at_ns));
    depth_.synchronised();
  }
  void copied(const to_troupe::copied& copied) {
    members_.lead().graph.copied(copied.size, copied.duration_ns, since_start(copied.at_ns));
  }
  void take_future(const to_troupe::future_taken& taken) {
    if (auto* caller = members_.caller(taken.operation))
      caller->graph.taken_as_future(taken.operation);
    depth_.taken_as_future(taken.operation);
  }

  void abort(const to_troupe::abort_communicator& aborted) {
    auto* by = members_.of(aborted.companion);
    auto* opened = by ? by->group(aborted.communicator) : nullptr;
    if (!opened) return;
    auto& group = *opened;
    auto tell = [this, me = by->me, &group] {
      if (!group.refused) self_->send(group.proxy, abort_group{me});
    };
    if (group.ready || group.refused)
      tell();
    else
      group.deferred.emplace_back(std::move(tell));
  }

  wait_described describe_wait() const {
    wait_described said;
    said.rank = me_;
    said.turn = goings_on_;
    if (ended_) {
      said.now = wait_described::state::ended;
      return said;
    }
    auto operations = turn_.stuck_on();
    for (const auto& [operation, answer] : self_->state.answers)
      if (!answer.deliver) said.progress.pending.push_back(operation);
    said.progress.calls = calls_;
    said.progress.polls = polls_;
    said.progress.waits_on = operations;
    if (operations.empty()) return said;
    said.now = wait_described::state::waits;
    said.wait = {me_, std::move(operations), waiting_threads_, takes_signals_};
    return said;
  }

  rank_ended end(const end_rank& end) {
    ended_ = true;
    members_.ended(since_start(end.at_ns));
    flush();
    self_->send(slots_, leave_slots{me_});
    auto open = std::exchange(answers(), {});
    for (auto& [operation, answer] : open) answer.refuse({errc::lost_rank, "the rank has ended"});
    for (auto& held : std::exchange(self_->state.wants_slot, {}))
      held.deliver(to_caf({errc::lost_rank, "the rank has ended"}));
    return {false, false, blocked_ns_, switches_, members_.companions()};
  }

 private:
  std::map<operation_id, owed_answer>& answers() { return self_->state.answers; }
  /// Collectives called and not resolved.
  std::set<operation_id> open_collectives() {
    std::set<operation_id> open;
    for (const auto& [operation, answer] : answers())
      if (answer.target && !answer.deliver) open.insert(operation);
    return open;
  }
  std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(
        (self_->clock().now().time_since_epoch() - run_.start).count());
  }
  std::uint64_t since_start(std::uint64_t at_ns) const {
    const auto start = static_cast<std::uint64_t>(run_.start.count());
    return at_ns > start ? at_ns - start : 0;
  }

  /// The slot_keeper takes slots from sleepers and cannot tell us; the page says so.
  void notice_lost_slot() {
    if (!turn_.holds_slot() || page_.holds_slot.load(std::memory_order_acquire)) return;
    turn_.lost_slot();
    blocked_since_ns_ = now_ns();
    members_.blocked(blocked_since_ns_);
  }

  error twice(operation_id operation) const {
    return {errc::bad_input,
            fmt::format("rank {} names two operations {}", me_.value, operation.value)};
  }

  bool record(const to_troupe::issue& call, rank_member& member, opened_group& group) {
    const auto site = call_sites_.find(call.site);
    auto made = rank_member::node_of(call, group, site == call_sites_.end() ? 0 : site->second);
    if (!made) return false;
    run_.tables->count(made->op, made->size);
    // A number again: another process is the rank now, and nobody will await what the first left.
    member.graph.awaited({call.operation}, since_start(call.at_ns));
    member.graph.issued(call.operation, std::move(*made), call.as_future, since_start(call.at_ns));
    flush_sometimes();
    return true;
  }

  void settle(operation_id operation, std::function<void()> deliver) {
    auto found = answers().find(operation);
    if (found == answers().end()) return;  // the rank has ended
    found->second.deliver = std::move(deliver);
    ++calls_;
    if (found->second.target) resolved_.push_back(*found->second.target);
    if (found->second.recorded) members_.caller(operation)->graph.resolved(operation, now_ns());
    notice_lost_slot();
    if (turn_.resolved(operation) == rank_turn::next::take_slot)
      ask_slot(futile_.expected() && !open_collectives().empty() ? claim::in_vain : claim::works);
    else if (asked_in_vain_ && open_collectives().empty()) {
      asked_in_vain_ = false;
      self_->send(slots_, slot_is_useful{me_});
    }
    hand_over();
  }

  void hand_over() {
    for (auto operation : turn_.deliver()) {
      auto answer = answers().extract(operation);
      if (!answer.empty()) answer.mapped().deliver();  // else the rank ended while its slot came
    }
    if (turn_.holds_slot()) resolved_.clear();  // nobody waits for them on our account
  }

  void give_up(release_reason why, const std::vector<operation_id>& operations,
               std::uint64_t at_ns) {
    std::vector<wait_target> waits_on;
    for (auto operation : operations)
      if (auto found = answers().find(operation); found != answers().end() && found->second.target)
        waits_on.push_back(*found->second.target);
    blocked_since_ns_ = since_start(at_ns);
    futile_.ends(self_->clock().now().time_since_epoch(), operations);
    members_.blocked(blocked_since_ns_);
    self_->send(slots_, give_up_slot{me_, why, std::move(waits_on)});
  }

  void ask_slot(claim what) {
    asked_in_vain_ = what == claim::in_vain;
    self_
        ->request(slots_, caf::infinite, troupe::take_slot{me_, std::exchange(resolved_, {}), what})
        .then(
            [this](const slot_granted& granted) {
              turn_.granted();
              asked_in_vain_ = false;
              futile_.begins(self_->clock().now().time_since_epoch(), open_collectives());
              ++goings_on_;
              ++switches_;
              const auto now = now_ns();
              if (now > blocked_since_ns_) blocked_ns_ += now - blocked_since_ns_;
              members_.resumed(now);
              if (run_.placement) run_.placement->place(waiting_threads_, granted.slot);
              for (auto& held : std::exchange(self_->state.wants_slot, {})) held.deliver(granted);
              hand_over();
            },
            [](caf::error&) {});  // the keeper ends with the run
  }

  void flush() {
    last_flush_ns_ = now_ns();
    events_ = 0;
    for (auto& [rank, nodes] : members_.take())
      self_->send(recorder_,
                  record_nodes{rank, std::make_shared<const std::vector<node>>(std::move(nodes))});
  }
  void flush_sometimes() {
    constexpr std::uint64_t events_max = 4096, period_ns = 500'000'000;
    if (++events_ >= events_max || now_ns() >= last_flush_ns_ + period_ns) flush();
  }

  self_pointer self_;
  run_surroundings run_;
  rank_id me_;
  group_directory_actor directory_;
  store_actor store_;
  slot_keeper_actor slots_;
  recorder_actor recorder_;
  rank_members members_;
  rank_turn turn_;
  dependency_depth depth_;
  rank_page& page_;
  std::unordered_map<call_site_id, std::uint32_t> call_sites_;
  std::vector<wait_target> resolved_;
  std::vector<std::int32_t> waiting_threads_;
  bool takes_signals_ = false;
  futile_turns futile_;
  bool asked_in_vain_ = false;
  bool ended_ = false;
  std::uint64_t goings_on_ = 0;          // grows whenever it waits anew or goes on
  std::uint64_t calls_ = 0, polls_ = 0;  // rank_progress'
  std::uint64_t blocked_since_ns_ = 0, blocked_ns_ = 0, switches_ = 0, events_ = 0,
                last_flush_ns_ = 0;
};

rank_actor::behavior_type behave(self_pointer self, const run_surroundings& run, rank_id me,
                                 group_directory_actor groups, store_actor store,
                                 slot_keeper_actor slots, recorder_actor recorder) {
  auto rank = std::make_shared<logical_ranks>(self, run, me, std::move(groups), std::move(store),
                                              std::move(slots), std::move(recorder));
  return {
      [=](const to_troupe::take_slot&) { return rank->take_slot(); },
      [=](const to_troupe::yielded& yielded) { return rank->yield(yielded); },
      [=](const to_troupe::open_communicator& wanted) { return rank->open(wanted); },
      [=](const to_troupe::call_site& site) { rank->name_call_site(site); },
      [=](const to_troupe::issue& call) { return rank->issue(call); },
      [=](const to_troupe::store& ask) { return rank->ask(ask); },
      [=](const to_troupe::blocked& blocked) { rank->block(blocked); },
      [=](const to_troupe::awaited& awaited) { rank->await(awaited); },
      [=](const to_troupe::mark& mark) { rank->mark(mark); },
      [=](const to_troupe::copied& copied) { rank->copied(copied); },
      [=](const to_troupe::future_taken& taken) { rank->take_future(taken); },
      [=](const to_troupe::abort_communicator& aborted) { rank->abort(aborted); },
      [=](const describe_wait&) { return rank->describe_wait(); },
      [=](const end_rank& end) { return rank->end(end); },
  };
}

}  // namespace

rank_actor spawn_rank(caf::actor_system& system, const run_surroundings& run, rank_id me,
                      group_directory_actor groups, store_actor store, slot_keeper_actor slots,
                      recorder_actor recorder) {
  return system.spawn(behave, run, me, std::move(groups), std::move(store), std::move(slots),
                      std::move(recorder));
}

}  // namespace troupe
