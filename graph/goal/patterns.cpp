#include "graph/goal/patterns.hpp"

#include <algorithm>
#include <bit>

#include "graph/goal/schedule_builder.hpp"

namespace troupe::goal {
namespace {

constexpr std::uint32_t nothing = ~std::uint32_t{0};

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
  /// Sends to and receives from all of them at once.
  void exchange_all(std::uint32_t self, std::uint32_t ranks, std::uint64_t size) {
    std::vector<std::uint32_t> made;
    for (std::uint32_t distance = 1; distance < ranks; ++distance) {
      made.push_back(add({.kind = operation_kind::send,
                          .size = size,
                          .peer = (self + distance) % ranks,
                          .tag = tag_}));
      made.push_back(add({.kind = operation_kind::recv,
                          .size = size,
                          .peer = (self + ranks - distance) % ranks,
                          .tag = tag_}));
    }
    last_ = made;
    join();
  }

 private:
  std::uint32_t add(const operation_description& what) {
    const auto made = to_.add(what);
    for (const auto earlier : last_) to_.depend(made, earlier, false);
    return made;
  }
  void after(std::uint32_t operation) { last_.assign(1, operation); }
  /// Many become one, so that the next ones do not each wait for all.
  void join() {
    if (last_.size() > 2) after(add({.kind = operation_kind::calc, .size = 0}));
  }

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

/// Round k: to the rank 2^k further on, from the one 2^k before.
result<schedule> dissemination(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    for (std::uint64_t distance = 1; distance < of.ranks; distance *= 2) {
      const auto d = static_cast<std::uint32_t>(distance);
      to.exchange((rank + d) % of.ranks, (rank + of.ranks - d) % of.ranks, of.size);
    }
  });
}

result<schedule> ring(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    if (of.ranks > 1) to.exchange((rank + 1) % of.ranks, (rank + of.ranks - 1) % of.ranks, of.size);
  });
}

/// Reduce-scatter, then all-gather, each ranks - 1 steps of a piece around the ring.
result<schedule> ring_all_reduce(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    const auto piece = (of.size + of.ranks - 1) / of.ranks;
    for (std::uint32_t i = 0; i + 1 < of.ranks; ++i)
      to.exchange((rank + 1) % of.ranks, (rank + of.ranks - 1) % of.ranks, piece);
    for (std::uint32_t i = 0; i + 1 < of.ranks; ++i)
      to.exchange((rank + 1) % of.ranks, (rank + of.ranks - 1) % of.ranks, piece);
  });
}

/// Those beyond the largest power of two give their part to a neighbour first, and get the result
/// last.
result<schedule> recursive_doubling(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    const auto power = std::bit_floor(of.ranks), extra = of.ranks - power;
    std::uint32_t place = rank < 2 * extra ? rank / 2 : rank - extra;
    if (rank < 2 * extra && rank % 2 == 0) {
      to.send(rank + 1, of.size);
      place = nothing;
    } else if (rank < 2 * extra) {
      to.recv(rank - 1, of.size);
    }
    const auto rank_at = [&](std::uint32_t at) { return at < extra ? 2 * at + 1 : at + extra; };
    if (place != nothing)
      for (std::uint32_t bit = 1; bit < power; bit *= 2) {
        const auto partner = rank_at(place ^ bit);
        to.exchange(partner, partner, of.size);
      }
    if (rank < 2 * extra) rank % 2 == 0 ? to.recv(rank + 1, of.size) : to.send(rank - 1, of.size);
  });
}

result<schedule> binomial_broadcast(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    std::uint64_t bit = rank == 0 ? std::bit_ceil(std::uint64_t{of.ranks}) : rank & -rank;
    if (rank != 0) to.recv(rank - static_cast<std::uint32_t>(bit), of.size);
    for (bit /= 2; bit > 0; bit /= 2)
      if (rank + bit < of.ranks) to.send(rank + static_cast<std::uint32_t>(bit), of.size);
  });
}

result<schedule> binomial_reduce(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    std::uint64_t bit = 1;
    for (; bit < of.ranks && !(rank & bit); bit *= 2)
      if (rank + bit < of.ranks) to.recv(rank + static_cast<std::uint32_t>(bit), of.size);
    if (rank != 0) to.send(rank - static_cast<std::uint32_t>(bit), of.size);
  });
}

result<schedule> linear_all_to_all(const pattern_options& of) {
  return made_of(
      of, [&](rank_writer& to, std::uint32_t rank) { to.exchange_all(rank, of.ranks, of.size); });
}

/// Step k: to the rank k further on, from the one k before, one pair after the other.
result<schedule> pairwise_all_to_all(const pattern_options& of) {
  return made_of(of, [&](rank_writer& to, std::uint32_t rank) {
    for (std::uint32_t k = 1; k < of.ranks; ++k)
      to.exchange((rank + k) % of.ranks, (rank + of.ranks - k) % of.ranks, of.size);
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

}  // namespace

const std::vector<pattern>& patterns() {
  static const std::vector<pattern> all = {
      {"binomial-broadcast", "from rank 0 along a binomial tree", binomial_broadcast},
      {"binomial-reduce", "to rank 0 along a binomial tree", binomial_reduce},
      {"dissemination", "log2 rounds, each to the rank 2^k further on", dissemination},
      {"incast", "all to rank 0", incast},
      {"linear-all-to-all", "each to each, all at once", linear_all_to_all},
      {"pairwise-all-to-all", "each to each, one after the other", pairwise_all_to_all},
      {"recursive-doubling", "all-reduce of the whole vector, any number of ranks",
       recursive_doubling},
      {"ring", "each to the next", ring},
      {"ring-all-reduce", "all-reduce in pieces around the ring", ring_all_reduce},
      {"sweep", "waves over a grid, from each corner", sweep},
  };
  return all;
}

result<schedule> make_pattern(const std::string& name, const pattern_options& options) {
  if (options.ranks == 0) return error{errc::usage, "a schedule has at least one rank"};
  std::string known;
  for (const auto& each : patterns()) {
    if (name == each.name) return each.make(options);
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return error{errc::usage, "there is no pattern " + name + " (" + known + ")"};
}

}  // namespace troupe::goal
