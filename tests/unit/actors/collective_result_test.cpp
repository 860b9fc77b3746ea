// collective_result_test: every operation is executed on integers, for every group size from 1 to
// 9, and compared with the operation's plain definition.
#include "actors/collective_result.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;

namespace {

using numbers = std::vector<std::int64_t>;
using matrix = std::vector<numbers>;  // by group rank

/// Distinct numbers for each member, as many as its call hands in.
matrix inputs_of(const std::vector<collective_call>& calls) {
  matrix inputs;
  const auto size = static_cast<std::uint32_t>(calls.size());
  for (std::uint32_t member = 0; member < size; ++member) {
    auto& mine = inputs.emplace_back(input_count(calls[member], member, size));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<std::int64_t>(1000 * (member + 1) + i);
  }
  return inputs;
}

/// What the pieces say, taken from the contributions (after a reduction: its sum in member 0's).
matrix executed(const std::vector<collective_call>& calls, matrix contributions) {
  if (reduces(calls[0].op))
    for (std::size_t member = 1; member < contributions.size(); ++member)
      for (std::size_t i = 0; i < contributions[0].size(); ++i)
        contributions[0][i] += contributions[member][i];
  matrix outputs;
  for (std::uint32_t member = 0; member < calls.size(); ++member) {
    auto& mine = outputs.emplace_back();
    for (const auto& part : pieces_of(calls, member)) {
      CHECK(part.begin % 8 == 0);
      CHECK(part.length % 8 == 0);
      CHECK(part.length > 0);
      const auto& from = contributions.at(part.source);
      for (std::uint64_t i = 0; i < part.length / 8; ++i)
        mine.push_back(from.at(part.begin / 8 + i));
    }
  }
  return outputs;
}

numbers sum(const matrix& inputs) {
  numbers total(inputs[0].size());
  for (const auto& input : inputs)
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += input[i];
  return total;
}

numbers slice(const numbers& from, std::size_t begin, std::size_t count) {
  const auto at = from.begin() + static_cast<long>(begin);
  return {at, at + static_cast<long>(count)};
}

numbers concatenated(const matrix& inputs) {
  numbers all;
  for (const auto& input : inputs) all.insert(all.end(), input.begin(), input.end());
  return all;
}

constexpr std::uint32_t sizes_max = 9;
constexpr std::uint64_t counts[] = {0, 1, 3, 16};

}  // namespace

TEST_CASE("all_reduce: every member gets the sum") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (auto count : counts) {
      const std::vector<collective_call> members(size, calls::all_reduce(count));
      const auto inputs = inputs_of(members);
      CHECK(executed(members, inputs) == matrix(size, sum(inputs)));
    }
}

TEST_CASE("reduce: the root gets the sum, the others nothing") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (std::uint32_t root = 0; root < size; ++root) {
      const std::vector<collective_call> members(size, calls::reduce(5, static_cast<int>(root)));
      const auto inputs = inputs_of(members);
      matrix expected(size);
      expected[root] = sum(inputs);
      CHECK(executed(members, inputs) == expected);
    }
}

TEST_CASE("reduce_scatter: each member gets its part of the sum") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (auto part : counts) {
      const std::vector<collective_call> members(size, calls::reduce_scatter(part * size));
      const auto inputs = inputs_of(members);
      matrix expected;
      for (std::uint32_t member = 0; member < size; ++member)
        expected.push_back(slice(sum(inputs), member * part, part));
      CHECK(executed(members, inputs) == expected);
    }
}

TEST_CASE("broadcast: everyone but the root, which has it, gets the root's vector") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (std::uint32_t root = 0; root < size; ++root)
      for (auto count : counts) {
        const std::vector<collective_call> members(
            size, calls::plain(operation::broadcast, count, static_cast<int>(root)));
        const auto inputs = inputs_of(members);
        matrix expected(size, inputs[root]);
        expected[root].clear();
        CHECK(executed(members, inputs) == expected);
      }
}

TEST_CASE("scatter: each member, the root too, gets its part of the root's vector") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (std::uint32_t root = 0; root < size; ++root)
      for (auto count : counts) {
        const std::vector<collective_call> members(
            size, calls::plain(operation::scatter, count, static_cast<int>(root)));
        const auto inputs = inputs_of(members);
        matrix expected;
        for (std::uint32_t member = 0; member < size; ++member)
          expected.push_back(slice(inputs[root], member * count, count));
        CHECK(executed(members, inputs) == expected);
      }
}

TEST_CASE("gather and all_gather: the parts in group order, for the root or for everyone") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (std::uint32_t root = 0; root < size; ++root)
      for (auto count : counts) {
        const std::vector<collective_call> gathered(
            size, calls::plain(operation::gather, count, static_cast<int>(root)));
        const auto inputs = inputs_of(gathered);
        matrix expected(size);
        expected[root] = concatenated(inputs);
        CHECK(executed(gathered, inputs) == expected);
        const std::vector<collective_call> all(size, calls::plain(operation::all_gather, count));
        CHECK(executed(all, inputs) == matrix(size, concatenated(inputs)));
      }
}

TEST_CASE("all_to_all: member a's part for b reaches b at a's place, with any splits") {
  std::mt19937 random(11);
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<std::vector<std::uint64_t>> sent(size, std::vector<std::uint64_t>(size));
      for (auto& row : sent)
        for (auto& count : row) count = random() % 3 ? random() % 7 : 0;
      std::vector<collective_call> members;
      for (std::uint32_t member = 0; member < size; ++member) {
        std::vector<std::uint64_t> received;
        for (std::uint32_t from = 0; from < size; ++from) received.push_back(sent[from][member]);
        members.push_back(calls::all_to_all(sent[member], received));
      }
      const auto inputs = inputs_of(members);
      matrix expected(size);
      for (std::uint32_t from = 0; from < size; ++from) {
        std::size_t at = 0;
        for (std::uint32_t to = 0; to < size; at += sent[from][to++])
          for (auto x : slice(inputs[from], at, sent[from][to])) expected[to].push_back(x);
      }
      CHECK(executed(members, inputs) == expected);
    }
}

TEST_CASE("all_to_all without splits cuts evenly") {
  for (std::uint32_t size = 1; size <= sizes_max; ++size)
    for (auto part : counts) {
      const std::vector<collective_call> members(size,
                                                 calls::plain(operation::all_to_all, part * size));
      const auto inputs = inputs_of(members);
      matrix expected(size);
      for (std::uint32_t to = 0; to < size; ++to)
        for (std::uint32_t from = 0; from < size; ++from)
          for (auto x : slice(inputs[from], to * part, part)) expected[to].push_back(x);
      CHECK(executed(members, inputs) == expected);
    }
}

TEST_CASE("a barrier gives nothing to anyone") {
  const std::vector<collective_call> members(4, calls::barrier());
  for (std::uint32_t member = 0; member < 4; ++member) CHECK(pieces_of(members, member).empty());
}

TEST_CASE("a member gets exactly the bytes that its call expects") {
  for (int op = 0; op < operation_count; ++op) {
    const auto what = static_cast<operation>(op);
    if (is_point_to_point(what)) continue;
    for (std::uint32_t size = 1; size <= sizes_max; ++size) {
      collective_call call{.op = what, .type = element_type::c128, .count = 6 * size};
      if (what == operation::barrier) call.count = 0;
      if (reduces(what)) call.reduce = reduction::sum;
      const std::vector<collective_call> members(size, call);
      for (std::uint32_t member = 0; member < size; ++member) {
        std::uint64_t got = 0;
        for (const auto& part : pieces_of(members, member)) got += part.length;
        const bool has_it = what == operation::broadcast && member == 0;
        CHECK(got == (has_it ? 0 : 16 * output_count(call, member, size)));
      }
    }
  }
}
