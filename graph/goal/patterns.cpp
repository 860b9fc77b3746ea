#include "graph/goal/patterns.hpp"

#include <algorithm>

#include "graph/goal/collective_expansion.hpp"
#include "graph/goal/schedule_builder.hpp"
#include "graph/schedule/collective_algorithm.hpp"

namespace troupe::goal {
namespace {

using collective_kind = troupe::operation;  // an operation of a schedule is another thing

/// One rank's operations, each after the last one unless said otherwise.
class rank_writer {
 public:
  rank_writer(schedule_builder& to, const pattern_options& options) : to_(to), options_(options) {}

  /// All that comes now waits for all that came.
  void begin_step(std::uint32_t step) {
    tag_ = step;
    if (options_.compute_ns > 0)
      after(add({.kind = operation_kind::calc, .size = options_.compute_ns}));
  }
  void calc() {
    if (options_.compute_ns > 0)
      after(add({.kind = operation_kind::calc, .size = options_.compute_ns}));
  }
  void send(std::uint32_t peer, std::uint64_t size) {
    after(add({.kind = operation_kind::send, .size = size, .peer = peer, .tag = tag_}));
  }
  void recv(std::uint32_t peer, std::uint64_t size) {
    after(add({.kind = operation_kind::recv, .size = size, .peer = peer, .tag = tag_}));
  }
  /// Both at once; what comes next waits for both.
  void exchange(std::uint32_t to, std::uint32_t from, std::uint64_t size) {
    const auto sent = add({.kind = operation_kind::send, .size = size, .peer = to, .tag = tag_});
    const auto got = add({.kind = operation_kind::recv, .size = size, .peer = from, .tag = tag_});
    last_ = {sent, got};
  }

 private:
  std::uint32_t add(const operation_description& what) {
    const auto made = to_.add(what);
    for (const auto earlier : last_) to_.depend(made, earlier, false);
    return made;
  }
  void after(std::uint32_t operation) { last_.assign(1, operation); }

  schedule_builder& to_;
  const pattern_options& options_;
  std::vector<std::uint32_t> last_;
  std::uint64_t tag_ = 0;
};

template <class Body>
result<schedule> made_of(const pattern_options& options, Body body) {
  if (options.chunk_bytes || options.per_host || options.inside_gb || options.inside_latency_ns > 0)
    return error{errc::usage, "chunks and hosts are of collectives"};
  schedule_builder builder;
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    builder.begin_rank();
    rank_writer to(builder, options);
    for (std::uint32_t step = 0; step < options.steps; ++step) {
      to.begin_step(step);
      body(to, rank);
    }
    if (auto ended = builder.end_rank(); !ended) return ended.error();
  }
  return builder.finish();
}

result<schedule> ring(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    if (of.ranks > 1) to.exchange((rank + 1) % of.ranks, (rank + of.ranks - 1) % of.ranks, of.size);
  });
}

result<schedule> incast(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    if (rank != 0) return to.send(0, of.size);
    for (std::uint32_t peer = 1; peer < of.ranks; ++peer) to.recv(peer, of.size);
  });
}

/// Waves over a grid of ranks, as square as it can be, from each of its corners in turn.
result<schedule> sweep(const pattern_options& of) {
  std::uint32_t width = 1;
  for (std::uint32_t w = 1; std::uint64_t{w} * w <= of.ranks; ++w)
    if (of.ranks % w == 0) width = w;
  const auto height = of.ranks / width;
  return made_of(of, [=](rank_writer& to, std::uint32_t rank) {
    const auto x = rank % width, y = rank / width;
    for (const auto& [right, down] :
         {std::pair{true, true}, {false, true}, {true, false}, {false, false}}) {
      const bool has_left = x > 0, has_right = x + 1 < width, has_up = y > 0,
                 has_down = y + 1 < height;
      if (right ? has_left : has_right) to.recv(right ? rank - 1 : rank + 1, of.size);
      if (down ? has_up : has_down) to.recv(down ? rank - width : rank + width, of.size);
      to.calc();
      if (right ? has_right : has_left) to.send(right ? rank + 1 : rank - 1, of.size);
      if (down ? has_down : has_up) to.send(down ? rank + width : rank - width, of.size);
    }
  });
}

/// Elements are bytes: the vector's, or as many for each member.
result<collective_shape> shape_of(collective_kind op, const pattern_options& of,
                                  std::uint32_t self) {
  const bool is_of_one = op == collective_kind::all_reduce || op == collective_kind::broadcast
                         || op == collective_kind::reduce;
  std::uint64_t elements = of.size;
  const bool is_too_many = !is_of_one && op != collective_kind::barrier
                           && (__builtin_mul_overflow(of.size, std::uint64_t{of.ranks}, &elements)
                               || elements >> 62 != 0);  // twice as many must fit
  if (is_too_many)
    return error{errc::usage, std::to_string(of.size) + " bytes for each of "
                                  + std::to_string(of.ranks) + " ranks are too many"};
  return even_shape(op, of.ranks, elements, self);
}

/// A collective of all ranks, step after step.
class collective_pattern {
 public:
  collective_pattern(collective_kind op, algorithm how, const pattern_options& of)
      : op_(op),
        of_(of),
        hosts_(host_layout::consecutive(of.ranks, of.per_host.value_or(1))),
        together_(of.inside_gb ? hosts_.largest() : 1),
        options_{.how = how, .nccl = of.nccl, .hosts = &hosts_} {
    if (of.chunk_bytes) options_.chunk_bytes = *of.chunk_bytes;
    placed_.lanes = lanes_of(options_);
    placed_.seats_max = together_;
    if (!of.inside_gb) return;
    for (std::uint32_t member = 0; member < of.ranks; ++member) {
      ranks_.push_back(hosts_.host(member));
      seats_.push_back(hosts_.seat(member));
    }
    placed_.ranks = ranks_;
    placed_.seats = seats_;
    placed_.inside_ns_per_byte = 1 / *of.inside_gb;
    placed_.inside_latency_ns = of.inside_latency_ns;
  }
  collective_pattern(const collective_pattern&) = delete;
  collective_pattern& operator=(const collective_pattern&) = delete;

  result<schedule> make() {
    for (std::uint32_t first = 0; first < of_.ranks; first += together_) {
      const auto count = std::min(together_, of_.ranks - first);
      programs_.resize(count);
      for (std::uint32_t i = 0; i < count; ++i) {
        TROUPE_TRY(shape, shape_of(op_, of_, first + i));
        if (auto known = write_program(shape, first + i, options_, programs_[i]); !known)
          return known.error();
      }
      builder_.begin_rank();
      last_.assign(count, {});
      for (std::uint32_t step = 0; step < of_.steps; ++step) add_step(step, first);
      if (auto ended = builder_.end_rank(); !ended) return ended.error();
    }
    return builder_.finish();
  }
  result<std::string> choice() const {
    TROUPE_TRY(shape, shape_of(op_, of_, 0));
    return describe_choice(shape, options_);
  }

 private:
  void add_step(std::uint32_t step, std::uint32_t first) {
    parts_.clear();
    for (std::uint32_t i = 0; i < programs_.size(); ++i) {
      const auto cpu = static_cast<std::uint16_t>(i);
      if (of_.compute_ns > 0) {
        const auto calc =
            builder_.add({.kind = operation_kind::calc, .size = of_.compute_ns, .cpu = cpu});
        for (const auto earlier : last_[i]) builder_.depend(calc, earlier, false);
        last_[i].assign(1, calc);
      }
      parts_.push_back({&programs_[i], first + i, cpu, cpu, last_[i]});
    }
    placed_.tag = step * tags_of(placed_);
    last_ = expand_together(parts_, placed_, builder_);
  }

  const collective_kind op_;
  const pattern_options& of_;
  const host_layout hosts_;
  const std::uint32_t together_;  // ranks that are one in the schedule
  schedule_options options_;
  expansion_options placed_;
  std::vector<std::uint32_t> ranks_, seats_;
  schedule_builder builder_;
  std::vector<transfer_program> programs_;
  std::vector<member_part> parts_;
  std::vector<std::vector<std::uint32_t>> last_;
};

result<schedule> collective(collective_kind op, algorithm how, const pattern_options& of,
                            std::string* chosen) {
  if (of.chunk_bytes && how != algorithm::double_tree)
    return error{errc::usage, "only a double tree has chunks"};
  if (of.per_host && !of.inside_gb && how != algorithm::nccl)
    return error{errc::usage,
                 "who shares a host matters to nccl's collectives, and where a "
                 "bandwidth inside hosts is given"};
  if ((of.inside_gb || of.inside_latency_ns > 0) && !(of.inside_gb && of.per_host))
    return error{errc::usage,
                 "transfers inside hosts need a bandwidth and the number of ranks of a host"};
  collective_pattern pattern(op, how, of);
  auto made = pattern.make();
  if (!made || chosen == nullptr) return made;
  TROUPE_TRY(choice, pattern.choice());
  *chosen = choice;
  return made;
}

/// "all-reduce".
std::string dashed(collective_kind op) {
  std::string name = to_string(op);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

pattern of_collective(std::string name, collective_kind op, algorithm how, std::string what) {
  return {std::move(name), std::move(what), [=](const pattern_options& of, std::string* chosen) {
            return collective(op, how, of, chosen);
          }};
}

template <result<schedule> (*make)(const pattern_options&)>
result<schedule> without_choice(const pattern_options& of, std::string*) {
  return make(of);
}

std::vector<pattern> all_patterns() {
  std::vector<pattern> all = {
      {"incast", "all to rank 0", without_choice<incast>},
      {"ring", "each to the next", without_choice<ring>},
      {"sweep", "waves over a grid, from each corner", without_choice<sweep>},
      of_collective("dissemination", collective_kind::barrier, algorithm::dissemination,
                    "dissemination-barrier"),
      of_collective("recursive-doubling", collective_kind::all_reduce,
                    algorithm::recursive_doubling, "recursive-doubling-all-reduce"),
  };
  for (const auto op :
       {collective_kind::all_gather, collective_kind::all_reduce, collective_kind::all_to_all,
        collective_kind::barrier, collective_kind::broadcast, collective_kind::gather,
        collective_kind::reduce, collective_kind::reduce_scatter, collective_kind::scatter}) {
    const auto name = dashed(op);
    all.push_back(of_collective(name, op, algorithm::automatic, describe(algorithm::automatic)));
    for (const auto how : algorithms())
      if (knows(how, op))
        all.push_back(of_collective(std::string(troupe::to_string(how)) + "-" + name, op, how,
                                    describe(how)));
  }
  std::sort(all.begin(), all.end(),
            [](const pattern& one, const pattern& other) { return one.name < other.name; });
  return all;
}

}  // namespace

const std::vector<pattern>& patterns() {
  static const auto all = all_patterns();
  return all;
}

result<schedule> make_pattern(const std::string& name, const pattern_options& options,
                              std::string* chosen) {
  if (options.ranks == 0) return error{errc::usage, "a schedule has at least one rank"};
  std::string known;
  for (const auto& each : patterns()) {
    if (name == each.name) return each.make(options, chosen);
    known += (known.empty() ? "" : ", ") + each.name;
  }
  return error{errc::usage, "there is no pattern " + name + " (" + known + ")"};
}

}  // namespace troupe::goal
