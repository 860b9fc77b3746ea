#include "net/loggops_model.hpp"

#include <algorithm>
#include <cmath>

#include "messages/assert.hpp"

namespace troupe {
namespace {

using goal::operation_kind;

constexpr double times_ns_max = 4.6e18;  // 2^62: no sum of two goes over

/// A number between 0 and 1 that (seed, operation, which) name (splitmix64).
double drawn(std::uint64_t seed, std::uint64_t operation, std::uint64_t which) {
  auto x = seed * 0x9e3779b97f4a7c15u + operation * 4 + which;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

std::string name_of(const goal::schedule& schedule, const goal::operation& what) {
  return "operation " + std::to_string(&what - &schedule[schedule.first_of(what.rank)] + 1)
         + " of rank " + std::to_string(what.rank);
}

}  // namespace

// No time of a simulation is later than the sum of all that its operations take.
result<void> loggops_model::check_times() const {
  const auto& p = parameters_;
  const auto each = 2.0 * static_cast<double>(p.overhead_ns) + 2.0 * static_cast<double>(p.gap_ns)
                    + static_cast<double>(p.latency_ns);
  const auto per_byte = 2 * p.gap_per_byte_ns + 2 * p.overhead_per_byte_ns;
  double sum = 0;
  for (const auto& what : progress_->schedule().operations()) {
    const auto size = static_cast<double>(what.size);
    if (what.kind == operation_kind::calc) sum += size * (1 + p.noise);
    if (what.kind == operation_kind::send) sum += each * (1 + p.noise) + size * per_byte;
    if (sum > times_ns_max)
      return error{errc::bad_input, name_of(progress_->schedule(), what) + " ("
                                        + std::to_string(what.size)
                                        + (what.kind == operation_kind::calc ? " ns" : " bytes")
                                        + ") brings the sum of all times beyond 2^62 ns"};
  }
  return {};
}

result<void> loggops_model::begin(schedule_progress& progress) {
  progress_ = &progress;
  if (auto checked = check_times(); !checked) return checked.error();
  clocks_.emplace(progress.schedule());
  return matching_.begin(progress);
}

void loggops_model::prepare(const simulation_event& event) {
  __builtin_prefetch(&at(event.operation()));
  __builtin_prefetch(&state(event.operation()));
}

std::uint64_t loggops_model::noise_ns(std::uint32_t index, std::uint64_t which,
                                      std::uint64_t of_ns) const {
  if (parameters_.noise == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(of_ns) * parameters_.noise
                                    * drawn(parameters_.seed, index, which));
}

void loggops_model::handle(const simulation_event& event) {
  const auto index = event.operation();
  if (event.is_posted()) return arrive(index, event.time_ns, event.order);
  if (state(index).phase() == operation_phase::turn)
    return take_turn(index, event.time_ns, event.order);
  wake(index, event.time_ns);
}

void loggops_model::take_turn(std::uint32_t index, std::uint64_t now, std::uint32_t order) {
  switch (at(index).kind) {
    case operation_kind::calc:
      return calculate(index, now, order);
    case operation_kind::send:
      return send(index, now, order);
    case operation_kind::recv:
      return post(index, now, order);
  }
}

void loggops_model::arm(wait_queue& queue, std::uint64_t at_ns) {
  queue.armed_ns = at_ns;
  progress_->events().push({at_ns, state(queue.first).count, queue.first});
}

void loggops_model::wait(wait_queue& in, operation_phase why, std::uint32_t index,
                         std::uint32_t order, std::uint64_t free_ns) {
  state(index).set(why);
  if (in.push(*progress_, index, order)) arm(in, free_ns);
}

// The event is void unless it is the one for the queue's first. What became free may have been
// taken since; else the first has it, or waits on for something else, and the next is asked.
void loggops_model::wake(std::uint32_t index, std::uint64_t now) {
  const auto phase = state(index).phase();
  wait_queue* queue = nullptr;
  const std::uint64_t* free_ns = nullptr;
  if (phase == operation_phase::waits_for_cpu) {
    auto& cpu = clocks_->cpu(at(index));
    queue = &cpu.waiting;
    free_ns = &cpu.free_ns;
  } else if (phase == operation_phase::waits_for_send_gap) {
    auto& nic = clocks_->nic(at(index));
    queue = &nic.waiting_to_send;
    free_ns = &nic.send_free_ns;
  } else if (phase == operation_phase::waits_for_recv_gap) {
    auto& nic = clocks_->nic(at(index));
    queue = &nic.waiting_to_recv;
    free_ns = &nic.recv_free_ns;
  }
  if (!queue || queue->first != index || queue->armed_ns != now) return;
  if (*free_ns > now) return arm(*queue, *free_ns);
  const auto order = state(index).count;
  queue->pop(*progress_);
  if (at(index).kind != operation_kind::recv)
    take_turn(index, now, order);
  else if (may_receive(index, now, order))
    receive(index, now, true);
  if (queue->first != wait_queue::none) arm(*queue, std::max(*free_ns, now));
}

void loggops_model::calculate(std::uint32_t index, std::uint64_t now, std::uint32_t order) {
  auto& cpu = clocks_->cpu(at(index));
  if (cpu.free_ns > now)
    return wait(cpu.waiting, operation_phase::waits_for_cpu, index, order, cpu.free_ns);
  const auto end = now + at(index).size + noise_ns(index, 0, at(index).size);
  cpu.free_ns = end;
  state(index).set(operation_phase::done);
  if (observer_) observer_->span(index, now, end);
  progress_->started(index, now);
  progress_->ended(index, end);
}

void loggops_model::send(std::uint32_t index, std::uint64_t now, std::uint32_t order) {
  const auto& what = at(index);
  auto& cpu = clocks_->cpu(what);
  auto& nic = clocks_->nic(what);
  if (cpu.free_ns > now && cpu.free_ns >= nic.send_free_ns)
    return wait(cpu.waiting, operation_phase::waits_for_cpu, index, order, cpu.free_ns);
  if (nic.send_free_ns > now)
    return wait(nic.waiting_to_send, operation_phase::waits_for_send_gap, index, order,
                nic.send_free_ns);
  const auto& p = parameters_;
  const auto bandwidth = bandwidth_ns(what);
  const auto sent = now + p.overhead_ns + overhead_ns(what) + noise_ns(index, 1, p.overhead_ns);
  cpu.free_ns = sent;
  nic.send_free_ns = now + p.gap_ns + bandwidth;
  matching_.sent(index);
  if (observer_) observer_->span(index, now, sent);
  switch (p.receiver) {
    case receiver_model::atlahs:
      progress_->post(index, sent + p.latency_ns + bandwidth);
      break;
    case receiver_model::loggopsim:
      progress_->post(index, now + p.overhead_ns + p.latency_ns);
      break;
    case receiver_model::bandwidth:
      progress_->post(index, sent + p.latency_ns);
      break;
  }
  progress_->started(index, now);
  if (!is_rendezvous(what)) progress_->ended(index, sent);
}

void loggops_model::post(std::uint32_t recv, std::uint64_t now, std::uint32_t order) {
  const auto message = matching_.take_arrived(recv);
  if (message == message_matching::none) {
    matching_.post(recv);
    return progress_->started(recv, now);
  }
  state(recv).link = message & message_matching::link_max;
  state(message).set(operation_phase::matched);
  const bool may = may_receive(recv, now, order);
  // Where it ends another rank's send, that rank's operations come before this one's.
  if (!may || at(message).rank == at(recv).rank) progress_->started(recv, now);
  if (may) receive(recv, now, false);
}

void loggops_model::arrive(std::uint32_t send, std::uint64_t now, std::uint32_t order) {
  const auto phase = state(send).phase();
  if (phase == operation_phase::retrying) return deliver(send, now, order);
  if (phase == operation_phase::flying && parameters_.receiver == receiver_model::bandwidth) {
    auto& nic = clocks_->nic_for(at(send));
    nic.intake_free_ns = std::max(nic.intake_free_ns, now) + bandwidth_ns(at(send));
    state(send).set(operation_phase::entering);
    return progress_->events().push(
        {nic.intake_free_ns, order, send | simulation_event::posted_bit});
  }
  if (!matching_.arrives_in_order(send)) return;
  const auto channel = state(send).link;
  deliver(send, now, order);
  for (auto next = matching_.take_next_early(channel); next != message_matching::none;
       next = matching_.take_next_early(channel))
    deliver(next, now, progress_->next_order());
}

void loggops_model::deliver(std::uint32_t send, std::uint64_t now, std::uint32_t order) {
  const auto recv = matching_.posted_for(send);
  if (recv == message_matching::none) return matching_.keep_arrived(send);
  const auto free_ns =
      std::max(clocks_->cpu(at(recv)).free_ns, clocks_->nic(at(recv)).recv_free_ns);
  if (free_ns > now && parameters_.matching == matching_rule::requeue
      && matching_.has_others_posted(send)) {
    if (put_back_.count++ == 0)
      put_back_.text = name_of(progress_->schedule(), at(recv))
                       + " went behind later recvs of the same source and tag, because its cpu or "
                         "gap was busy (--matching mpi keeps it in front)";
    matching_.put_back_first_posted(send);
    state(send).set(operation_phase::retrying);
    return progress_->events().push({free_ns, order, send | simulation_event::posted_bit});
  }
  matching_.take_posted(send, recv);
  state(recv).link = send & message_matching::link_max;
  state(send).set(operation_phase::matched);
  if (may_receive(recv, now, order)) receive(recv, now, true);
}

bool loggops_model::may_receive(std::uint32_t recv, std::uint64_t now, std::uint32_t order) {
  auto& cpu = clocks_->cpu(at(recv));
  auto& nic = clocks_->nic(at(recv));
  if (cpu.free_ns > now && cpu.free_ns >= nic.recv_free_ns) {
    wait(cpu.waiting, operation_phase::waits_for_cpu, recv, order, cpu.free_ns);
    return false;
  }
  if (nic.recv_free_ns > now) {
    wait(nic.waiting_to_recv, operation_phase::waits_for_recv_gap, recv, order, nic.recv_free_ns);
    return false;
  }
  return true;
}

/// `was_posted`: the recv was there before its message, or waited since.
void loggops_model::receive(std::uint32_t recv, std::uint64_t now, bool was_posted) {
  const auto message = static_cast<std::uint32_t>(state(recv).link);
  const auto& sent = at(message);
  auto& cpu = clocks_->cpu(at(recv));
  auto& nic = clocks_->nic(at(recv));
  const auto& p = parameters_;
  const auto overhead = p.overhead_ns + noise_ns(recv, 2, p.overhead_ns);
  auto done = now + p.gap_ns + overhead + overhead_ns(sent), gone = now + p.gap_ns;
  auto sender_done = done, sender_gone = gone;
  if (p.receiver == receiver_model::loggopsim) {
    done = now + overhead + std::max(overhead_ns(sent), bandwidth_ns(sent));
    gone = now + p.gap_ns + bandwidth_ns(sent);
    sender_done = sender_gone = now;
  }
  cpu.free_ns = done;
  nic.recv_free_ns = gone;
  ++matched_;
  state(recv).set(operation_phase::done);
  state(message).set(operation_phase::done);
  if (sent.size != at(recv).size) note_sizes(sent, at(recv));
  if (observer_) observer_->span(recv, now, done);
  const bool frees_sender = is_rendezvous(sent);
  if (frees_sender) {
    auto& its_cpu = clocks_->cpu(sent);
    auto& its_nic = clocks_->nic(sent);
    its_cpu.free_ns = std::max(its_cpu.free_ns, sender_done);
    its_nic.send_free_ns = std::max(its_nic.send_free_ns, sender_gone);
    if (observer_) observer_->held_until(message, sender_done);
  }
  const bool sender_first = !was_posted || sent.rank == at(recv).rank;
  if (frees_sender && sender_first) progress_->ended(message, sender_done);
  if (!was_posted && sent.rank != at(recv).rank) progress_->started(recv, now);
  progress_->ended(recv, done);
  if (frees_sender && !sender_first) progress_->ended(message, sender_done);
}

void loggops_model::note_sizes(const operation& send, const operation& recv) {
  auto& warning = send.size > recv.size ? smaller_ : larger_;
  if (warning.count++ > 0) return;
  warning.text = name_of(progress_->schedule(), recv) + " receives " + std::to_string(recv.size)
                 + " bytes, and a message of " + std::to_string(send.size) + " from rank "
                 + std::to_string(send.rank) + " came";
}

bool loggops_model::has_ended(std::uint32_t operation) const {
  const auto phase = progress_->state(operation).phase();
  return phase == operation_phase::done
         || (phase >= operation_phase::flying && !is_rendezvous(at(operation)));
}

std::vector<simulation_warning> loggops_model::warnings() const {
  std::vector<simulation_warning> all;
  for (const auto& each : {put_back_, larger_, smaller_})
    if (each.count > 0) all.push_back(each);
  return all;
}

std::vector<std::pair<std::string, std::string>> loggops_model::description() const {
  const auto& p = parameters_;
  const auto number = [](double value) {
    auto text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  };
  return {{"model", "loggops"},
          {"receiver", std::string(receiver_names[static_cast<int>(p.receiver)])},
          {"matching", std::string(matching_names[static_cast<int>(p.matching)])},
          {"L", std::to_string(p.latency_ns)},
          {"o", std::to_string(p.overhead_ns)},
          {"g", std::to_string(p.gap_ns)},
          {"G", number(p.gap_per_byte_ns)},
          {"O", number(p.overhead_per_byte_ns)},
          {"S", std::to_string(p.eager_bytes_max)},
          {"noise", number(p.noise)},
          {"seed", std::to_string(p.seed)}};
}

}  // namespace troupe
