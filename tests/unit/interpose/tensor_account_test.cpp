// tensor_account: that what is taken and given back adds up, from any thread, and that a capacity
// refuses the crossing allocation and no earlier one.

#include "interpose/torch/tensor_account.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

bool take(tensor_account& account, std::uint64_t size) {
  const auto held = account.take(size);
  if (held) account.reached(*held);
  return held.has_value();
}

TEST_CASE("the peak is what was held at most, not what was ever allocated") {
  rank_page page{};
  tensor_account account;
  account.open(page, 0);
  REQUIRE(take(account, 100 * MiB));
  account.give_back(100 * MiB);
  REQUIRE(take(account, 50 * MiB));
  CHECK(account.held() == 50 * MiB);
  CHECK(account.peak() == 100 * MiB);
  CHECK(page.tensor_peak_bytes == 100 * MiB);
  CHECK(page.counts_tensors == 1);
}

TEST_CASE("a program that resets its peak does not lower the run's") {
  rank_page page{};
  tensor_account account;
  account.open(page, 0);
  REQUIRE(take(account, 100));
  account.give_back(60);
  account.reset_peak();
  CHECK(account.peak() == 40);
  REQUIRE(take(account, 10));
  CHECK(account.peak() == 50);
  CHECK(page.tensor_peak_bytes == 100);
}

TEST_CASE("memory that could not be had leaves no peak") {
  rank_page page{};
  tensor_account account;
  account.open(page, 0);
  REQUIRE(account.take(1000));  // and the machine has no such memory
  account.give_back(1000);
  REQUIRE(take(account, 7));
  CHECK(account.peak() == 7);
  CHECK(page.tensor_peak_bytes == 7);
}

TEST_CASE("the allocation that crosses the capacity is refused, and none before it") {
  rank_page page{};
  tensor_account account;
  account.open(page, 100);
  CHECK(take(account, 60));
  CHECK(take(account, 40));
  CHECK_FALSE(take(account, 1));
  CHECK(account.refusals() == 1);
  CHECK(page.refused_bytes == 1);
  CHECK(page.held_at_refusal_bytes == 100);
  account.give_back(60);
  CHECK_FALSE(take(account, 61));
  CHECK_FALSE(take(account, ~std::uint64_t{0}));
  CHECK(account.held() == 40);
  CHECK(take(account, 60));
  CHECK(account.peak() == 100);
}

TEST_CASE("a child of a rank is not limited and says nothing of itself") {
  rank_page page{};
  tensor_account account;
  account.open(page, 100);
  CHECK(take(account, 90));
  account.leave_page();
  CHECK(take(account, 1000));
  CHECK(account.held() == 1090);
  CHECK(page.tensor_peak_bytes == 90);
  CHECK(page.refused_bytes == 0);
}

TEST_CASE("threads that allocate at once add up, and never hold more than the capacity") {
  constexpr int threads = 4, rounds = 20'000;
  const std::uint64_t capacity = GENERATE(0, 150);
  rank_page page{};
  tensor_account account;
  account.open(page, capacity);
  std::array<int, threads> refused{};
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      const std::uint64_t size = 50 + thread;
      for (int round = 0; round < rounds; ++round) {
        if (take(account, size))
          account.give_back(size);
        else
          ++refused[thread];
      }
    });
  for (auto& each : all) each.join();
  CHECK(account.held() == 0);
  CHECK(account.peak() >= 50);
  CHECK(account.peak() <= (capacity ? capacity : 50 + 51 + 52 + 53));
  CHECK(page.tensor_peak_bytes == account.peak());
  CHECK(account.refusals()
        == static_cast<std::uint64_t>(refused[0] + refused[1] + refused[2] + refused[3]));
}

}  // namespace
}  // namespace troupe
