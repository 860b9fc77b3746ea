#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include "interpose/client/call_site_table.hpp"
#include "interpose/client/communicator_table.hpp"
#include "interpose/client/mapped_pools.hpp"
#include "interpose/client/operation_table.hpp"
#include "interpose/client/poll_burst.hpp"
#include "interpose/client/thread_seats.hpp"
#include "interpose/client/watched_futures.hpp"

using namespace troupe;

TEST_CASE("a region outside its pool is refused") {
  std::vector<descriptor> files;
  files.emplace_back(::memfd_create("pool", MFD_CLOEXEC));
  REQUIRE(::ftruncate(files[0].get(), 8192) == 0);
  CHECK_FALSE(mapped_pools::map({16384}, files));  // the file is shorter than the runner says
  auto pools = mapped_pools::map({8192}, files);
  REQUIRE(pools);
  CHECK(pools->bytes_of({0, 64, 8128, 0}));
  CHECK_FALSE(pools->bytes_of({0, 64, 8129, 0}));
  CHECK_FALSE(pools->bytes_of({0, ~0ull, 2, 0}));
  CHECK_FALSE(pools->bytes_of({0, 2, ~0ull, 0}));
  CHECK_FALSE(pools->bytes_of({1, 0, 1, 0}));
  CHECK(pools->header_of({0, 64, 1, 0}));
  CHECK_FALSE(pools->header_of({0, 64, 1, 8}));    // misaligned
  CHECK_FALSE(pools->header_of({0, 64, 1, 64}));   // not before the bytes
  CHECK_FALSE(pools->header_of({0, 0, 1, 8192}));  // outside
  CHECK_FALSE(pools->rank_page_at(8192));
  CHECK_FALSE(pools->rank_page_at(32));
  CHECK(pools->rank_page_at(64));
}

TEST_CASE("communicators of equal members differ by ordinal and count their own collectives") {
  communicator_table table;
  const std::vector<rank_id> members{{0}, {3}};
  const auto first = table.open(members), second = table.open(members);
  const auto turned = table.open({{3}, {0}});
  CHECK(first.ordinal == 0);
  CHECK(second.ordinal == 1);
  CHECK(turned.ordinal == 0);
  CHECK(first.communicator == make_communicator_id(members, 0));
  CHECK(first.communicator != second.communicator);
  CHECK(turned.communicator != first.communicator);
  ++table.find(first.communicator)->collectives;
  CHECK(table.find(second.communicator)->collectives == 0);
  CHECK(table.find({12345}) == nullptr);
}

TEST_CASE("a communicator of several of a process' ranks has a handle and a count for each") {
  communicator_table table;
  const std::vector<rank_id> members{{0}, {3}, {6}};
  const auto lead = table.open_as(members, 4), first = table.open_as(members, 4, 1),
             second = table.open_as(members, 4, 2);
  CHECK(lead.handle == lead.communicator);
  CHECK(lead.communicator == first.communicator);
  CHECK(lead.communicator == second.communicator);
  CHECK(first.handle != lead.handle);
  CHECK(first.handle != second.handle);
  ++table.find(first.handle)->collectives;
  CHECK(table.find(first.handle)->companion == 1);
  CHECK(table.find(second.handle)->companion == 2);
  CHECK(table.find(second.handle)->collectives == 0);
  CHECK(table.find(second.handle)->communicator == lead.communicator);
  CHECK(table.open(members, 1).ordinal == 0);
  CHECK(table.open(members, 2).ordinal == 0);
  CHECK(table.open(members, 2).ordinal == 1);
}

TEST_CASE("a companion's operation is known by its whole number") {
  operation_table table;
  const auto first = table.add({}), second = table.add({}, 3);
  CHECK(first == operation_id{1});
  CHECK(second == operation_of(3, 2));
  CHECK(table.was_issued(second));
  CHECK_FALSE(table.was_issued(operation_of(3, 3)));
  CHECK(table.is_pending(second));
  CHECK_FALSE(table.is_pending({2}));
  CHECK(table.pending() == std::vector{first, second});
}

TEST_CASE("a thread polls that yields for long and does little between") {
  constexpr auto ms = std::uint64_t{1'000'000};
  poll_burst burst;
  CHECK_FALSE(burst.yields(1000 * ms, 3 * ms));  // the first
  CHECK_FALSE(burst.yields(1000 * ms + poll_burst::long_ns - 1, 3 * ms));
  CHECK(burst.yields(1000 * ms + poll_burst::long_ns, 3 * ms + 1));
  CHECK(burst.yields(1100 * ms, 3 * ms + poll_burst::work_ns));  // it slept between
  CHECK_FALSE(burst.yields(1101 * ms, 4 * ms));                  // it worked
  CHECK(burst.yields(1102 * ms, 4 * ms + 1));
  burst.goes_on(9 * ms);
  CHECK(burst.yields(1103 * ms, 9 * ms + 1));
}

TEST_CASE("a call site crosses the wire once") {
  call_site_table table;
  CHECK(table.intern("").id == call_site_id{0});
  const auto first = table.intern("a.py:1");
  CHECK(first.first);
  CHECK_FALSE(table.intern("a.py:1").first);
  CHECK(table.intern("a.py:1").id == first.id);
  CHECK(table.intern("a.py:2").id != first.id);
  for (std::size_t i = 0; i < call_site_table::call_sites_max; ++i) table.intern(std::to_string(i));
  CHECK(table.intern("one too many").id == call_site_id{0});
}

TEST_CASE("a watched range is found by any address in it, half open") {
  watched_futures futures;
  char memory[64];
  futures.add({7}, memory + 8, memory + 16);
  futures.add({8}, memory + 16, memory + 24);
  CHECK_FALSE(futures.find(memory));
  CHECK(futures.find(memory + 8) == operation_id{7});
  CHECK(futures.find(memory + 15) == operation_id{7});
  CHECK(futures.find(memory + 16) == operation_id{8});
  CHECK_FALSE(futures.find(memory + 24));
  futures.remove({7});
  CHECK_FALSE(futures.find(memory + 8));
}

TEST_CASE("a future that is watched anew completes with the later operation") {
  watched_futures futures;
  char memory[64];
  CHECK_FALSE(futures.add({7}, memory, memory + 8));
  CHECK(futures.add({9}, memory, memory + 8) == operation_id{7});
  futures.remove({7});
  CHECK(futures.find(memory) == operation_id{9});
}

TEST_CASE("completed operations that nobody waits for are kept up to a limit") {
  operation_table table;
  for (std::size_t i = 0; i < operation_table::completed_kept_max + 1; ++i) {
    operation_record record;
    record.now = operation_record::state::arrived;
    table.complete(table.add(std::move(record)), false);
  }
  CHECK_FALSE(table.find({1}));
  CHECK(table.find({2}));
  CHECK(table.was_issued({1}));
  CHECK_FALSE(table.was_issued({operation_table::completed_kept_max + 2}));
  CHECK_FALSE(table.was_issued({0}));
}

TEST_CASE("threads are blocked when none of them runs") {
  thread_seats seats;
  auto pending = [](operation_id operation) { return operation.value < 10; };
  auto nothing = [] { return std::vector<operation_id>{}; };
  CHECK_FALSE(seats.all_blocked(pending, nothing));  // nobody there
  auto* first = seats.take();
  CHECK_FALSE(seats.all_blocked(pending, nothing));
  *first = {thread_seat::state::waiting, {3}, release_reason::store};
  REQUIRE(seats.all_blocked(pending, nothing));
  CHECK(seats.all_blocked(pending, nothing)->reason == release_reason::store);
  auto* second = seats.take();
  CHECK_FALSE(seats.all_blocked(pending, nothing));
  *second = {thread_seat::state::waiting, {2}, release_reason::collective};
  REQUIRE(seats.all_blocked(pending, nothing));
  CHECK(seats.all_blocked(pending, nothing)->operations == std::vector<operation_id>{{2}, {3}});
  CHECK(seats.all_blocked(pending, nothing)->reason == release_reason::collective);
  *second = {thread_seat::state::waiting, {11}, release_reason::collective};  // answered
  CHECK_FALSE(seats.all_blocked(pending, nothing));
  second->now = thread_seat::state::sleeping;
  CHECK(seats.all_blocked(pending, nothing)->operations == std::vector<operation_id>{{3}});
  seats.leave(first);
  CHECK(seats.all_blocked(pending, nothing)->operations.empty());
  CHECK(seats.all_blocked(pending, nothing)->reason == release_reason::sleeping);
}

TEST_CASE("threads that all poll do not work, until the slot comes anew") {
  thread_seats seats;
  auto pending = [](operation_id) { return true; };
  auto* first = seats.take();
  auto* second = seats.take();
  first->polled = true;
  CHECK(seats.others_work(first, pending));
  CHECK_FALSE(seats.others_work(second, pending));
  CHECK(seats.others_run(second, pending));
  second->polled = true;
  CHECK_FALSE(seats.others_work(first, pending));
  seats.forget_polls();
  CHECK(seats.others_work(first, pending));
  CHECK(seats.others_work(second, pending));
}

TEST_CASE("a thread that waits for another one is blocked with it, or on futures under watch") {
  thread_seats seats;
  auto pending = [](operation_id) { return true; };
  auto nothing = [] { return std::vector<operation_id>{}; };
  auto futures = [] { return std::vector<operation_id>{{4}, {7}}; };
  auto* parked = seats.take();
  parked->now = thread_seat::state::parked;
  CHECK(seats.any_parked());
  CHECK_FALSE(seats.all_blocked(pending, nothing));  // somebody without a seat works for it
  REQUIRE(seats.all_blocked(pending, futures));
  CHECK(seats.all_blocked(pending, futures)->operations == futures());
  CHECK(seats.all_blocked(pending, futures)->reason == release_reason::collective);
  auto* other = seats.take();
  CHECK_FALSE(seats.all_blocked(pending, futures));  // it runs
  *other = {thread_seat::state::waiting, {5}, release_reason::store};
  CHECK(seats.all_blocked(pending, nothing)->operations == std::vector<operation_id>{{5}});
  CHECK(seats.all_blocked(pending, futures)->operations
        == std::vector<operation_id>{{4}, {5}, {7}});
  CHECK(seats.all_blocked(pending, nothing)->threads.size() == 2);
  other->now = thread_seat::state::sleeping;
  CHECK(seats.all_blocked(pending, nothing)->reason == release_reason::sleeping);
}
