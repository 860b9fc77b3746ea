// collective_execution_test: with the host backend and real pools, sums are equal to the bit
// whatever the order of arrival, and each region is free when its last piece was read.
#include "actors/collective_execution.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;

namespace {

using floats = std::vector<float>;

template <class T>
std::vector<std::uint8_t> as_bytes(const std::vector<T>& from) {
  std::vector<std::uint8_t> bytes(from.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
  return bytes;
}

std::unique_ptr<payload_pools> open_pools() {
  auto opened = payload_pools::open({.world = 1, .memory_bytes = 64 << 20});
  REQUIRE(opened);
  return std::move(*opened);
}

struct stage {
  std::unique_ptr<backend> memory = make_host_backend();
  std::unique_ptr<payload_pools> pools = open_pools();

  /// Bytes as a rank would hand them in: in the frame, or in a region that is marked as posted.
  contribution hand_in(const std::vector<std::uint8_t>& bytes, bool in_region, region* where) {
    if (!in_region || bytes.empty())
      return *contribution::accept(bytes.empty() ? payload{} : payload{bytes}, bytes.size(),
                                   *pools);
    const auto extent = *pools->lease(bytes.size() + 64);
    *where = {0, extent.offset + 64, bytes.size(), extent.offset};
    pools->header_of(*where).state = region_header::posted;
    std::memcpy(pools->bytes_of(*where)->data(), bytes.data(), bytes.size());
    return *contribution::accept(*where, bytes.size(), *pools);
  }
  /// Reads a result as a rank would: a region's piece is counted off once it is copied.
  std::vector<std::uint8_t> read(const collective_execution::pieces& pieces) {
    std::vector<std::uint8_t> all;
    if (!pieces) return all;
    for (const auto& piece : *pieces) {
      if (auto* bytes = std::get_if<inline_bytes>(&piece)) {
        all.insert(all.end(), bytes->begin(), bytes->end());
        continue;
      }
      const auto& where = std::get<region>(piece);
      auto bytes = *pools->bytes_of(where);
      const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
      all.insert(all.end(), begin, begin + bytes.size());
      --pools->header_of(where).state;
    }
    return all;
  }
};

struct outcome {
  std::vector<std::vector<std::uint8_t>> results;  // by member
  std::vector<std::uint32_t> states;               // of the regions, when all was read
};

/// Members arrive in the given order; folds run in an order of `random`'s.
outcome execute(stage& on, const std::vector<collective_call>& calls,
                const std::vector<std::vector<std::uint8_t>>& inputs,
                const std::vector<std::uint32_t>& arrivals, bool in_regions, std::mt19937& random) {
  const auto size = static_cast<std::uint32_t>(calls.size());
  collective_execution run{*on.memory, *on.pools, calls[arrivals[0]], size};
  std::vector<region> regions(size);
  std::vector<reduction_tree::step> due;
  auto fold_some = [&](bool all) {
    while (!due.empty() && (all || random() % 2)) {
      std::swap(due[random() % due.size()], due.back());
      const auto step = due.back();
      due.pop_back();
      run.fold(step);
      for (auto& next : run.folded(step)) due.push_back(next);
    }
  };
  for (auto member : arrivals) {
    CHECK_FALSE(run.complete());
    for (auto& step : run.arrived(member, on.hand_in(inputs[member], in_regions, &regions[member])))
      due.push_back(step);
    fold_some(false);
  }
  fold_some(true);
  CHECK(run.complete());
  if (run.needs_finish()) run.finish();
  outcome done;
  for (const auto& pieces : run.results(calls)) done.results.push_back(on.read(pieces));
  for (const auto& where : regions)
    if (where.length) done.states.push_back(on.pools->header_of(where).state);
  return done;
}

std::vector<std::uint32_t> in_order(std::uint32_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("sums are equal to the bit in any order of arrival, in frames and in regions") {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> any(-1e6f, 1e6f);
  for (std::uint32_t size : {1u, 2u, 7u, 8u, 9u, 40u}) {
    INFO(size << " members");
    const std::vector<collective_call> members(size, calls::all_reduce(33, element_type::f32));
    std::vector<std::vector<std::uint8_t>> inputs;
    for (std::uint32_t member = 0; member < size; ++member) {
      floats values(33);
      for (auto& value : values) value = any(random);
      inputs.push_back(as_bytes(values));
    }
    stage on;
    auto arrivals = in_order(size);
    const auto first = execute(on, members, inputs, arrivals, false, random);
    for (auto& result : first.results) CHECK(result == first.results[0]);
    for (int trial = 0; trial < 8; ++trial) {
      std::shuffle(arrivals.begin(), arrivals.end(), random);
      const auto again = execute(on, members, inputs, arrivals, trial % 2, random);
      CHECK(again.results == first.results);
    }
  }
}

TEST_CASE("an average is divided once, when all are there") {
  stage on;
  std::mt19937 random(1);
  for (std::uint32_t size : {1u, 4u}) {
    const std::vector<collective_call> members(
        size, calls::all_reduce(2, element_type::f32, reduction::avg));
    std::vector<std::vector<std::uint8_t>> inputs;
    for (std::uint32_t member = 0; member < size; ++member)
      inputs.push_back(as_bytes(floats{static_cast<float>(member), 8}));
    auto done = execute(on, members, inputs, in_order(size), true, random);
    CHECK(done.results[0] == as_bytes(floats{static_cast<float>(size - 1) / 2, 8}));
  }
}

TEST_CASE("an average of halves is finite where their sum is not, for every size of group") {
  std::mt19937 random(3);
  constexpr std::uint16_t value = 0x7800;  // 32768: two of them are beyond the largest f16
  for (std::uint32_t size = 1; size <= 66; ++size) {
    INFO(size << " members");
    const std::vector<collective_call> members(
        size, calls::all_reduce(1, element_type::f16, reduction::avg));
    const std::vector<std::vector<std::uint8_t>> inputs(
        size, as_bytes(std::vector<std::uint16_t>{value}));
    stage on;
    auto arrivals = in_order(size);
    const auto first = execute(on, members, inputs, arrivals, false, random);
    std::uint16_t found;
    std::memcpy(&found, first.results[0].data(), sizeof(found));
    // Fractions of up to nine blocks are rounded: some units in the last place.
    CHECK(found >= value - 8);
    CHECK(found <= value + 4);
    std::shuffle(arrivals.begin(), arrivals.end(), random);
    CHECK(execute(on, members, inputs, arrivals, true, random).results == first.results);
  }
}

TEST_CASE("every region is free once every member has read its result") {
  std::mt19937 random(2);
  stage on;
  for (int op = 0; op < operation_count; ++op) {
    const auto what = static_cast<operation>(op);
    if (is_point_to_point(what)) continue;
    for (std::uint32_t size : {1u, 3u, 9u}) {
      INFO(to_string(what) << " of " << size);
      collective_call call{.op = what, .type = element_type::i64, .count = 4 * size};
      if (what == operation::barrier) call.count = 0;
      if (reduces(what)) call.reduce = reduction::sum;
      call.root = what == operation::broadcast ? static_cast<int>(size) - 1 : 0;
      const std::vector<collective_call> members(size, call);
      std::vector<std::vector<std::uint8_t>> inputs;
      for (std::uint32_t member = 0; member < size; ++member)
        inputs.emplace_back(8 * input_count(call, member, size), std::uint8_t(member));
      auto done = execute(on, members, inputs, in_order(size), true, random);
      for (auto state : done.states) CHECK(state == 0);
      for (std::uint32_t member = 0; member < size; ++member) {
        const bool has_it = what == operation::broadcast && member == size - 1;
        CHECK(done.results[member].size() == (has_it ? 0 : 8 * output_count(call, member, size)));
      }
    }
  }
}

TEST_CASE("a region is counted once for each piece that lies in it") {
  stage on;
  const std::uint32_t size = 5;
  const std::vector<collective_call> members(size, calls::plain(operation::all_gather, 3));
  collective_execution run{*on.memory, *on.pools, members[0], size};
  std::vector<region> regions(size);
  for (std::uint32_t member = 0; member < size; ++member)
    run.arrived(member, on.hand_in(std::vector<std::uint8_t>(24), true, &regions[member]));
  run.results(members);
  for (const auto& where : regions) CHECK(on.pools->header_of(where).state == size);
}

TEST_CASE("a vector of no elements is summed by nobody") {
  stage on;
  std::mt19937 random(3);
  const std::vector<collective_call> members(9, calls::all_reduce(0));
  const auto done =
      execute(on, members, std::vector<std::vector<std::uint8_t>>(9), in_order(9), true, random);
  for (const auto& result : done.results) CHECK(result.empty());
}

TEST_CASE("what was abandoned frees the regions that had arrived") {
  stage on;
  const std::vector<collective_call> members(3, calls::all_reduce(4));
  collective_execution run{*on.memory, *on.pools, members[0], 3};
  std::vector<region> regions(2);
  for (std::uint32_t member = 0; member < 2; ++member)
    run.arrived(member, on.hand_in(std::vector<std::uint8_t>(32), true, &regions[member]));
  run.abandon();
  for (const auto& where : regions) CHECK(on.pools->header_of(where).state == 0);
}
