// run_tables_test: numbers are given once, in order, also when several threads ask.
#include "actors/run_tables.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <thread>

using namespace troupe;

namespace {

communicator_entry entry(std::uint64_t id) { return {{id}, {{0}, {1}}, semantics::gloo, "pg"}; }

}  // namespace

TEST_CASE("a communicator has one index, however often it is named") {
  run_tables tables;
  CHECK(tables.communicator(entry(7)) == 0);
  CHECK(tables.communicator(entry(9)) == 1);
  CHECK(tables.communicator(entry(7)) == 0);
}

TEST_CASE("call site 0 is the unknown one, others count from 1") {
  run_tables tables;
  CHECK(tables.call_site("") == 0);
  CHECK(tables.call_site("a.py:1") == 1);
  CHECK(tables.call_site("b.py:2") == 2);
  CHECK(tables.call_site("a.py:1") == 1);
  CHECK(tables.call_site_text(2) == "b.py:2");
  CHECK(tables.call_site_text(0).empty());
  CHECK(tables.call_site_text(99).empty());
}

TEST_CASE("fresh entries are handed out once, in the order of their index") {
  run_tables tables;
  tables.communicator(entry(7));
  tables.call_site("a");
  auto first = tables.take_fresh();
  CHECK(first.communicators == std::vector<communicator_entry>{entry(7)});
  CHECK(first.call_sites == std::vector<std::string>{"a"});
  tables.communicator(entry(7));
  tables.call_site("b");
  auto second = tables.take_fresh();
  CHECK(second.communicators.empty());
  CHECK(second.call_sites == std::vector<std::string>{"b"});
}

TEST_CASE("operations are counted by kind") {
  run_tables tables;
  tables.count(operation::all_reduce, 100);
  tables.count(operation::all_reduce, 20);
  tables.count(operation::barrier, 0);
  auto counted = tables.operations();
  CHECK(counted.size() == 2);
  CHECK(counted[operation::all_reduce].count == 2);
  CHECK(counted[operation::all_reduce].size_bytes == 120);
}

TEST_CASE("threads that name the same things get the same numbers") {
  run_tables tables;
  std::vector<std::vector<std::uint32_t>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen)
      threads.emplace_back([&] {
        for (std::uint64_t n = 0; n < 500; ++n) {
          mine.push_back(tables.communicator(entry(n)));
          mine.push_back(tables.call_site(std::to_string(n)));
          tables.count(operation::send, 1);
        }
      });
  }
  for (auto& mine : seen) CHECK(mine == seen[0]);
  CHECK(std::set<std::uint32_t>(seen[0].begin(), seen[0].end()).size() == 501);
  CHECK(tables.operations()[operation::send].count == 2000);
}
