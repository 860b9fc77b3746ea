#include "graph/goal/collective_expansion.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "messages/assert.hpp"

namespace troupe::goal {
namespace {

/// One or two operations; none before anything was done.
struct few {
  std::uint32_t count = 0;
  std::uint32_t operations[2]{};
};

/// Members of one rank, and the calcs for what they send each other.
class inside {
 public:
  inside(std::span<const member_part> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto is_new = index_.emplace(parts[i].member, i).second;
      TROUPE_ASSERT(is_new, "twice in one rank: member", parts[i].member);
    }
  }
  const std::size_t* find(std::uint32_t member) const {
    const auto found = index_.find(member);
    return found == index_.end() ? nullptr : &found->second;
  }
  /// The calc of the next message of a pair and lane, as its sender or its receiver counts them;
  /// `make` makes it for the first who asks.
  template <class Make>
  std::uint32_t transfer(std::uint32_t from, std::uint32_t to, std::uint32_t lane, bool is_sender,
                         Make make) {
    auto& pair = pairs_[{from, to, lane}];
    const auto number = is_sender ? pair.sent++ : pair.received++;
    if (number == pair.calcs.size()) pair.calcs.push_back(make());
    return pair.calcs[number];
  }
  /// Every message was sent and received.
  bool is_complete() const {
    return std::all_of(pairs_.begin(), pairs_.end(),
                       [](const auto& each) { return each.second.sent == each.second.received; });
  }

 private:
  struct pair {
    std::size_t sent = 0, received = 0;
    std::vector<std::uint32_t> calcs;
  };
  std::map<std::uint32_t, std::size_t> index_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, pair> pairs_;
};

class part_writer {
 public:
  part_writer(const member_part& part, std::span<const member_part> parts, inside& among,
              const expansion_options& options, schedule_builder& to)
      : part_(part), parts_(parts), among_(among), options_(options), to_(to) {}

  std::vector<std::uint32_t> write() {
    const auto steps = part_.program->steps();
    ends_.resize(steps.size());
    is_awaited_.assign(steps.size(), false);
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      gather(part_.program->dependencies(i));
      ends_[i] = write(steps[i]);
    }
    return last();
  }

 private:
  std::uint32_t rank_of(std::uint32_t member) const {
    return options_.ranks.empty() ? member : options_.ranks[member];
  }
  std::uint64_t tag_of(std::uint32_t from, std::uint32_t to, std::uint32_t lane) const {
    const auto seat = [&](std::uint32_t member) {
      return options_.seats.empty() ? 0 : std::uint64_t{options_.seats[member]};
    };
    return options_.tag + (seat(from) * options_.seats_max + seat(to)) * options_.lanes + lane;
  }

  /// before_ becomes the operations that must have ended; none: what the collective is to come
  /// after.
  void gather(std::span<const std::uint32_t> steps) {
    before_.clear();
    for (const auto step : steps) {
      is_awaited_[step] = true;
      before_.insert(before_.end(), ends_[step].operations,
                     ends_[step].operations + ends_[step].count);
    }
    std::sort(before_.begin(), before_.end());
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
  }
  void await_before(std::uint32_t operation) {
    if (before_.empty() && !part_.after.empty()) {
      if (begin_.count == 0) begin_ = joined({part_.after.begin(), part_.after.end()});
      before_.assign(begin_.operations, begin_.operations + begin_.count);
    }
    for (const auto earlier : before_) to_.depend(operation, earlier, false);
  }

  few write(const transfer_step& step) {
    const auto peer = among_.find(step.peer);
    if (step.kind == step_kind::local) return write_local(step);
    TROUPE_ASSERT(step.lane < options_.lanes, step.lane, options_.lanes);
    const bool is_send = step.kind == step_kind::send;
    if (peer != nullptr) return write_inside(step, parts_[is_send ? *peer : self()], is_send);
    const auto made =
        add(is_send ? operation_kind::send : operation_kind::recv, step.bytes, rank_of(step.peer),
            is_send ? tag_of(part_.member, step.peer, step.lane)
                    : tag_of(step.peer, part_.member, step.lane));
    const bool reduces = !is_send && step.how == combining::reduce;
    return reduces ? then_calc(made, options_.reduce_ns_per_byte, step.bytes) : few{1, {made}};
  }

  /// Without a time it is no operation, but where it stands for many.
  few write_local(const transfer_step& step) {
    const auto per_byte =
        step.how == combining::reduce ? options_.reduce_ns_per_byte : options_.copy_ns_per_byte;
    const auto ns = time_of(per_byte, step.bytes);
    if (ns == 0) return joined(before_);
    return {1, {add(operation_kind::calc, ns)}};
  }

  few write_inside(const transfer_step& step, const member_part& receiver, bool is_send) {
    const auto from = is_send ? part_.member : step.peer, to = is_send ? step.peer : part_.member;
    const auto calc = among_.transfer(from, to, step.lane, is_send, [&] {
      return to_.add(
          {.kind = operation_kind::calc,
           .size = options_.inside_latency_ns + time_of(options_.inside_ns_per_byte, step.bytes),
           .cpu = receiver.cpu,
           .nic = receiver.nic});
    });
    await_before(calc);
    const bool reduces = !is_send && step.how == combining::reduce;
    return reduces ? then_calc(calc, options_.reduce_ns_per_byte, step.bytes) : few{1, {calc}};
  }

  few then_calc(std::uint32_t operation, double ns_per_byte, std::uint64_t bytes) {
    const auto ns = time_of(ns_per_byte, bytes);
    if (ns == 0) return {1, {operation}};
    before_.assign(1, operation);
    return {1, {add(operation_kind::calc, ns)}};
  }

  static std::uint64_t time_of(double ns_per_byte, std::uint64_t bytes) {
    return static_cast<std::uint64_t>(ns_per_byte * static_cast<double>(bytes));
  }

  std::uint32_t add(operation_kind kind, std::uint64_t size, std::uint32_t peer = 0,
                    std::uint64_t tag = 0) {
    const auto made = to_.add({kind, size, peer, tag, part_.cpu, part_.nic});
    await_before(made);
    return made;
  }

  /// Two at most, by a calc of no time that waits for many.
  few joined(const std::vector<std::uint32_t>& many) {
    if (many.size() <= 2) {
      few all;
      for (const auto each : many) all.operations[all.count++] = each;
      return all;
    }
    const auto made =
        to_.add({.kind = operation_kind::calc, .size = 0, .cpu = part_.cpu, .nic = part_.nic});
    for (const auto earlier : many) to_.depend(made, earlier, false);
    return {1, {made}};
  }

  std::size_t self() const { return static_cast<std::size_t>(&part_ - parts_.data()); }

  std::vector<std::uint32_t> last() {
    before_.clear();
    for (std::size_t i = 0; i < ends_.size(); ++i)
      if (!is_awaited_[i])
        before_.insert(before_.end(), ends_[i].operations, ends_[i].operations + ends_[i].count);
    std::sort(before_.begin(), before_.end());
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
    if (before_.empty()) return {part_.after.begin(), part_.after.end()};
    const auto ends = joined(before_);
    return {ends.operations, ends.operations + ends.count};
  }

  const member_part& part_;
  const std::span<const member_part> parts_;
  inside& among_;
  const expansion_options& options_;
  schedule_builder& to_;
  std::vector<few> ends_;  // of each step
  std::vector<bool> is_awaited_;
  std::vector<std::uint32_t> before_;
  few begin_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> expand_together(std::span<const member_part> parts,
                                                        const expansion_options& options,
                                                        schedule_builder& to) {
  inside among(parts);
  std::vector<std::vector<std::uint32_t>> ends;
  for (const auto& part : parts)
    ends.push_back(part_writer(part, parts, among, options, to).write());
  TROUPE_ASSERT(among.is_complete(), "members of one rank disagree about their messages");
  return ends;
}

std::vector<std::uint32_t> expand(const member_part& part, const expansion_options& options,
                                  schedule_builder& to) {
  return std::move(expand_together({&part, 1}, options, to)[0]);
}

}  // namespace troupe::goal
