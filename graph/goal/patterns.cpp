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
  if (!is_of_one && op != collective_kind::barrier
      && __builtin_mul_overflow(of.size, std::uint64_t{of.ranks}, &elements))
    return error{errc::usage, std::to_string(of.size) + " bytes for each of "
                                  + std::to_string(of.ranks) + " ranks are too many"};
  return even_shape(op, of.ranks, elements, self);
}

/// A collective of all ranks, step after step.
result<schedule> collective(collective_kind op, algorithm how, const pattern_options& of) {
  const schedule_options options{.how = how, .chunk_bytes = of.chunk_bytes};
  expansion_options placed{.lanes = lanes_of(options)};
  schedule_builder builder;
  transfer_program program;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    TROUPE_TRY(shape, shape_of(op, of, rank));
    if (auto known = write_program(shape, rank, options, program); !known) return known.error();
    builder.begin_rank();
    std::vector<std::uint32_t> last;
    for (std::uint32_t step = 0; step < of.steps; ++step) {
      if (of.compute_ns > 0) {
        const auto calc = builder.add({.kind = operation_kind::calc, .size = of.compute_ns});
        for (const auto earlier : last) builder.depend(calc, earlier, false);
        last.assign(1, calc);
      }
      placed.tag = step * tags_of(placed);
      last = expand({.program = &program, .member = rank, .after = last}, placed, builder);
    }
    if (auto ended = builder.end_rank(); !ended) return ended.error();
  }
  return builder.finish();
}

/// "all-reduce".
std::string dashed(collective_kind op) {
  std::string name = to_string(op);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

pattern of_collective(std::string name, collective_kind op, algorithm how, std::string what) {
  return {std::move(name), std::move(what),
          [=](const pattern_options& of) { return collective(op, how, of); }};
}

std::vector<pattern> all_patterns() {
  std::vector<pattern> all = {
      {"incast", "all to rank 0", incast},
      {"ring", "each to the next", ring},
      {"sweep", "waves over a grid, from each corner", sweep},
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

result<schedule> make_pattern(const std::string& name, const pattern_options& options) {
  if (options.ranks == 0) return error{errc::usage, "a schedule has at least one rank"};
  std::string known;
  for (const auto& each : patterns()) {
    if (name == each.name) return each.make(options);
    known += (known.empty() ? "" : ", ") + each.name;
  }
  return error{errc::usage, "there is no pattern " + name + " (" + known + ")"};
}

}  // namespace troupe::goal
