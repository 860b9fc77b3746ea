// reduction_tree_test: the tree is executed on expressions, which show the order and who took part.
#include "gpu/reduction_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>

using namespace troupe;

namespace {

/// The order as the header defines it, written without steps: blocks from left to right, then pairs
/// of pairs.
std::string expected(std::uint32_t members) {
  std::vector<std::string> row;
  for (std::uint32_t i = 0; i < members; ++i) {
    if (i % reduction_tree::block == 0)
      row.push_back(std::to_string(i));
    else
      row.back() = "(" + row.back() + "+" + std::to_string(i) + ")";
  }
  while (row.size() > 1) {
    std::vector<std::string> next;
    for (std::size_t i = 0; i < row.size(); i += 2)
      next.push_back(i + 1 < row.size() ? "(" + row[i] + "+" + row[i + 1] + ")" : row[i]);
    row = next;
  }
  return row[0];
}

struct execution {
  std::string result;
  bool sound = true;      ///< steps used only what had arrived or was folded, and each buffer once
  bool all_freed = true;  ///< every buffer but member 0's
  bool originals_known = true;  ///< each step told which of its buffers had been folded before
  std::size_t held_max{};       ///< buffers alive at the same time
};

/// Arrivals in the given order; steps are done in an order of `random`'s, some before the next
/// arrival, some later.
execution execute(const std::vector<std::uint32_t>& arrivals, std::mt19937& random) {
  auto members = static_cast<std::uint32_t>(arrivals.size());
  reduction_tree tree(members);
  execution run;
  std::vector<std::string> buffers(members);
  std::vector<bool> busy(members);
  std::vector<reduction_tree::step> pending;
  std::size_t held = 0;

  auto given_out = [&](std::vector<reduction_tree::step> steps) {
    for (auto& step : steps) {
      auto takes = step.from;
      takes.push_back(step.into);
      for (auto member : takes) {
        run.sound = run.sound && !buffers[member].empty() && !busy[member];
        busy[member] = true;
      }
      pending.push_back(step);
    }
  };
  auto fold_one = [&] {
    auto chosen = pending.begin() + static_cast<long>(random() % pending.size());
    auto step = *chosen;
    pending.erase(chosen);
    auto folded = [&](std::uint32_t member) { return buffers[member][0] == '('; };
    run.originals_known =
        run.originals_known && tree.folds_into_original(step) != folded(step.into);
    for (auto member : step.from)
      run.originals_known = run.originals_known && tree.folds_originals(step) != folded(member);
    for (auto member : step.from) {
      buffers[step.into] = "(" + buffers[step.into] + "+" + buffers[member] + ")";
      buffers[member].clear();
      --held;
    }
    busy[step.into] = false;
    given_out(tree.folded(step));
  };

  for (auto member : arrivals) {
    run.sound = run.sound && !tree.complete();
    buffers[member] = std::to_string(member);
    run.held_max = std::max(run.held_max, ++held);
    given_out(tree.arrived(member));
    while (!pending.empty() && random() % 3) fold_one();
  }
  while (!pending.empty()) fold_one();
  run.sound = run.sound && tree.complete();
  run.result = buffers[0];
  for (std::uint32_t member = 1; member < members; ++member)
    run.all_freed = run.all_freed && buffers[member].empty();
  return run;
}

}  // namespace

TEST_CASE("members are folded in one order whatever the order of their arrival") {
  std::mt19937 random(3);
  for (std::uint32_t members = 1; members <= 70; ++members) {
    INFO(members << " members");
    std::vector<std::uint32_t> arrivals(members);
    std::iota(arrivals.begin(), arrivals.end(), 0);
    auto order = expected(members);
    for (int trial = 0; trial < 40; ++trial) {
      auto run = execute(arrivals, random);
      CHECK(run.result == order);
      CHECK(run.sound);
      CHECK(run.all_freed);
      CHECK(run.originals_known);
      std::shuffle(arrivals.begin(), arrivals.end(), random);
      if (trial == 20) std::sort(arrivals.rbegin(), arrivals.rend());
    }
  }
}

TEST_CASE("the order is the documented one") {
  CHECK(expected(3) == "((0+1)+2)");
  CHECK(expected(10) == "((((((((0+1)+2)+3)+4)+5)+6)+7)+(8+9))");
  std::mt19937 random(4);
  CHECK(execute({2, 0, 1}, random).result == "((0+1)+2)");
}

TEST_CASE("a group of one is complete when its member is there") {
  reduction_tree tree(1);
  CHECK_FALSE(tree.complete());
  CHECK(tree.arrived(0).empty());
  CHECK(tree.complete());
}

TEST_CASE("memory is bounded by a block and the tree's height when members come in order") {
  std::vector<std::uint32_t> arrivals(4096);
  std::iota(arrivals.begin(), arrivals.end(), 0);
  reduction_tree tree(4096);
  std::size_t held = 0, held_max = 0;
  for (auto member : arrivals) {
    held_max = std::max(held_max, ++held);
    auto steps = tree.arrived(member);
    while (!steps.empty()) {
      held -= steps[0].from.size();
      steps = tree.folded(steps[0]);
    }
  }
  CHECK(tree.complete());
  CHECK(held == 1);
  CHECK(held_max <= reduction_tree::block + 9);
}
