// reference_simulation: LogGOPS as its rules are written, for comparison: slow and plain.
//
// One list of events; who finds a cpu or gap taken comes again when that is said to be free; queues
// are lists that are searched. Nothing here is shared with net/ but the schedule and the
// parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "net/loggops_parameters.hpp"

namespace troupe::reference {

using number = std::uint64_t;

class simulation {
 public:
  simulation(const goal::schedule& of, const loggops_parameters& parameters)
      : of_(of),
        p_(parameters),
        operations_(of.size()),
        posted_(of.ranks()),
        arrived_(of.ranks()) {}

  void run() {
    for (std::uint32_t i = 0; i < of_.size(); ++i)
      for (const auto later : of_.dependents(i)) ++operations_[later.operation()].left;
    for (std::uint32_t i = 0; i < of_.size(); ++i)
      if (operations_[i].left == 0) add(0, {what::turn, i});
    while (!events_.empty()) {
      const auto [time, order, about] = *events_.begin();
      events_.erase(events_.begin());
      now_ = time;
      order_ = order;
      handle(about);
    }
  }

  std::vector<number> hosts() const {
    std::vector<number> latest(of_.ranks());
    for (const auto& [cpu, free] : cpu_) latest[cpu.first] = std::max(latest[cpu.first], free);
    return latest;
  }
  number matched() const { return matched_; }
  number ended() const { return ended_; }

 private:
  enum class what { turn, receive, enter, arrive, retry };
  struct event {
    what kind;
    std::uint32_t operation;
    auto operator<=>(const event&) const = default;
  };
  struct operation_record {
    number ready = 0, left = 0, place = 0;
    std::uint32_t message = 0;  // a recv's
  };
  using device = std::pair<std::uint32_t, std::uint32_t>;  // rank, number

  const goal::operation& at(std::uint32_t i) const { return of_[i]; }
  number& cpu(std::uint32_t i) { return cpu_[{at(i).rank, at(i).cpu}]; }
  number& send_gap(std::uint32_t i) { return send_gap_[{at(i).rank, at(i).nic}]; }
  number& recv_gap(std::uint32_t i) { return recv_gap_[{at(i).rank, at(i).nic}]; }
  number bytes_ns(std::uint32_t send, double each) const {
    return static_cast<number>(static_cast<double>(std::max<number>(at(send).size, 1) - 1) * each);
  }
  bool is_rendezvous(std::uint32_t send) const {
    return std::max<number>(at(send).size, 1) > p_.eager_bytes_max;
  }

  void add(number time, event about) { events_.insert({time, next_order_++, about}); }
  void again(number time, event about) { events_.insert({time, order_, about}); }

  void satisfy(std::uint32_t i, number time, bool on_start) {
    for (const auto later : of_.dependents(i)) {
      if (later.waits_for_start() != on_start) continue;
      auto& record = operations_[later.operation()];
      record.ready = std::max(record.ready, time);
      if (--record.left == 0) add(record.ready, {what::turn, later.operation()});
    }
  }
  void start(std::uint32_t i) { satisfy(i, now_, true); }
  void end(std::uint32_t i, number time) {
    ++ended_;
    satisfy(i, time, false);
  }

  void handle(event about) {
    const auto i = about.operation;
    if (about.kind == what::receive) return receive(i, false);
    if (about.kind == what::retry) return deliver(i);
    if (about.kind == what::arrive) return arrive(i);
    if (about.kind == what::enter) {
      auto& port = intake_[{at(i).peer, nearest_nic(i)}];
      port = std::max(port, now_) + bytes_ns(i, p_.gap_per_byte_ns);
      return again(port, {what::arrive, i});
    }
    if (at(i).kind == goal::operation_kind::calc) calculate(i);
    if (at(i).kind == goal::operation_kind::send) send(i);
    if (at(i).kind == goal::operation_kind::recv) post(i);
  }

  void calculate(std::uint32_t i) {
    if (cpu(i) > now_) return again(cpu(i), {what::turn, i});
    cpu(i) = now_ + at(i).size;
    start(i);
    end(i, cpu(i));
  }

  void send(std::uint32_t i) {
    const auto free = std::max(cpu(i), send_gap(i));
    if (free > now_) return again(free, {what::turn, i});
    const auto bandwidth = bytes_ns(i, p_.gap_per_byte_ns);
    const auto done = now_ + p_.overhead_ns + bytes_ns(i, p_.overhead_per_byte_ns);
    cpu(i) = done;
    send_gap(i) = now_ + p_.gap_ns + bandwidth;
    operations_[i].place = sent_[channel(i)]++;
    if (p_.receiver == receiver_model::atlahs)
      add(done + p_.latency_ns + bandwidth, {what::arrive, i});
    else if (p_.receiver == receiver_model::bandwidth)
      add(done + p_.latency_ns, {what::enter, i});
    else
      add(now_ + p_.overhead_ns + p_.latency_ns, {what::arrive, i});
    start(i);
    if (!is_rendezvous(i)) end(i, done);
  }

  std::tuple<std::uint32_t, std::uint32_t, number> channel(std::uint32_t send) const {
    return {at(send).rank, at(send).peer, of_.tag(at(send))};
  }
  bool is_for(std::uint32_t send, std::uint32_t recv) const {
    const auto tag = of_.tag(at(recv));
    return (at(recv).peer == goal::any_source || at(recv).peer == at(send).rank)
           && (tag == goal::any_tag || tag == of_.tag(at(send)));
  }

  void post(std::uint32_t recv) {
    auto& arrived = arrived_[at(recv).rank];
    const auto message =
        std::find_if(arrived.begin(), arrived.end(), [&](auto send) { return is_for(send, recv); });
    if (message == arrived.end()) {
      posted_[at(recv).rank].push_back(recv);
      return start(recv);
    }
    operations_[recv].message = *message;
    arrived.erase(message);
    const bool is_free = std::max(cpu(recv), recv_gap(recv)) <= now_;
    const bool is_own = at(operations_[recv].message).rank == at(recv).rank;
    if (!is_free || is_own) start(recv);
    receive(recv, is_free);
  }

  void arrive(std::uint32_t send) {
    auto& next = in_order_[channel(send)];
    if (operations_[send].place != next) return void(early_.insert(send));
    ++next;
    deliver(send);
    for (bool found = true; found;) {
      found = false;
      for (const auto other : early_)
        if (channel(other) == channel(send) && operations_[other].place == next) {
          ++next;
          early_.erase(other);
          order_ = next_order_++;
          deliver(other);
          found = true;
          break;
        }
    }
  }

  void deliver(std::uint32_t send) {
    auto& posted = posted_[at(send).peer];
    const auto recv =
        std::find_if(posted.begin(), posted.end(), [&](auto each) { return is_for(send, each); });
    if (recv == posted.end()) return arrived_[at(send).peer].push_back(send);
    const auto free = std::max(cpu(*recv), recv_gap(*recv));
    const auto others = std::count_if(posted.begin(), posted.end(), [&](auto each) {
      return at(each).peer == at(send).rank && of_.tag(at(each)) == of_.tag(at(send));
    });
    if (free > now_ && p_.matching == matching_rule::requeue && others > 1
        && !has_wildcards(at(send).peer)) {
      posted.splice(posted.end(), posted, recv);
      return again(free, {what::retry, send});
    }
    const auto taken = *recv;
    posted.erase(recv);
    operations_[taken].message = send;
    receive(taken, false);
  }

  void receive(std::uint32_t recv, bool at_once) {
    const auto free = std::max(cpu(recv), recv_gap(recv));
    if (free > now_) return again(free, {what::receive, recv});
    const auto send = operations_[recv].message;
    const auto bandwidth = bytes_ns(send, p_.gap_per_byte_ns);
    const auto overhead = bytes_ns(send, p_.overhead_per_byte_ns);
    number gap = now_ + p_.gap_ns, done = gap + p_.overhead_ns + overhead;
    number sender_done = done, sender_gap = gap;
    if (p_.receiver == receiver_model::loggopsim) {
      done = now_ + p_.overhead_ns + std::max(overhead, bandwidth);
      gap = now_ + p_.gap_ns + bandwidth;
      sender_done = sender_gap = now_;
    }
    cpu(recv) = done;
    recv_gap(recv) = gap;
    ++matched_;
    const bool is_own = at(send).rank == at(recv).rank;
    const auto end_sender = [&] {
      if (is_rendezvous(send)) end(send, sender_done);
    };
    if (is_rendezvous(send)) {
      cpu(send) = std::max(cpu(send), sender_done);
      send_gap(send) = std::max(send_gap(send), sender_gap);
    }
    if (at_once || is_own) end_sender();
    if (at_once && !is_own) start(recv);
    end(recv, done);
    if (!at_once && !is_own) end_sender();
  }

  bool has_wildcards(std::uint32_t rank) const {
    for (auto i = of_.first_of(rank); i < of_.first_of(rank + 1); ++i)
      if (at(i).kind == goal::operation_kind::recv
          && (at(i).peer == goal::any_source || of_.tag(at(i)) == goal::any_tag))
        return true;
    return false;
  }
  /// Of the receiving rank: the sender's number, or the next it has, or its last.
  std::uint32_t nearest_nic(std::uint32_t send) const {
    std::set<std::uint32_t> nics{0};
    for (auto i = of_.first_of(at(send).peer); i < of_.first_of(at(send).peer + 1); ++i)
      nics.insert(at(i).nic);
    const auto found = nics.lower_bound(at(send).nic);
    return found == nics.end() ? *nics.rbegin() : *found;
  }

  const goal::schedule& of_;
  const loggops_parameters p_;
  std::vector<operation_record> operations_;
  std::set<std::tuple<number, number, event>> events_;  // time, order
  std::map<device, number> cpu_, send_gap_, recv_gap_, intake_;
  std::vector<std::list<std::uint32_t>> posted_, arrived_;  // [rank]
  std::map<std::tuple<std::uint32_t, std::uint32_t, number>, number> sent_, in_order_;
  std::set<std::uint32_t> early_;
  number now_ = 0, order_ = 0, next_order_ = 0, matched_ = 0, ended_ = 0;
};

}  // namespace troupe::reference
