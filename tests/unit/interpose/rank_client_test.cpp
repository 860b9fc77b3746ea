// A rank's calls against a port that is driven by hand: operations, payloads, awaiting.
#include "interpose/client/rank_client.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>

#include "call_outcome.hpp"
#include "fake_port.hpp"

using namespace troupe;
using namespace std::chrono_literals;

TEST_CASE("issue, blocked, completed: the result lies in the outputs and the edge follows") {
  connected_rank rank;
  const auto world = rank.open();
  std::string left(3, '?'), right(5, '?');
  outcome seen;
  std::string input = "abcdefgh";
  rank.run([&](rank_client& client) {
    const troupe_input in{input.data(), input.size()};
    const troupe_output outs[2] = {{left.data(), 3}, {right.data(), 5}};
    auto posting = all_reduce_of(world, in, outs);
    posting.done = outcome::note;
    posting.argument = &seen;
    auto issued = client.issue(posting);
    RANK_CHECK(issued);
    RANK_CHECK(client.wait(*issued, 0));
    RANK_CHECK(seen.calls == 1);
    RANK_CHECK(client.wait(*issued, 0));  // again: at once, and no news
    RANK_CHECK(client.issue(posting));
  });
  const auto opened = rank.port.expect<to_troupe::open_communicator>();
  CHECK(opened.communicator == world);
  CHECK(opened.members == std::vector<rank_id>{{0}, {1}});
  const auto site = rank.port.expect<to_troupe::call_site>();
  CHECK(site.text == "train.py:42 in step");
  const auto issue = rank.port.expect<to_troupe::issue>();
  CHECK(issue.communicator == world);
  CHECK(issue.sequence == sequence_number{1});
  CHECK(issue.site == site.id);
  CHECK(issue.call.count == 8);
  CHECK(std::get<inline_bytes>(issue.payload) == bytes_from(input));
  const auto blocked = rank.port.expect<to_troupe::blocked>();
  CHECK(blocked.reason == release_reason::collective);
  CHECK(blocked.operations == std::vector{issue.operation});
  rank.port.holds_slot() = 0;
  // Pieces need not be cut where the outputs are; an empty one is none.
  rank.port.complete(issue.operation, {bytes_from("01"), payload{}, bytes_from("234567")}, {}, 1);
  const auto second = rank.port.next_write();
  rank.finish();
  CHECK(left + right == "01234567");
  CHECK(seen.calls == 1);
  CHECK(seen.status == 0);
  CHECK(seen.source == 1);
  REQUIRE(second.size() == 2);  // awaited goes with the next frame, not alone
  CHECK(std::get<to_troupe::awaited>(second[0]).operations == std::vector{issue.operation});
  CHECK(std::get<to_troupe::issue>(second[1]).sequence == sequence_number{2});
}

TEST_CASE("each wait is told with its own time, however few frames leave") {
  connected_rank rank;
  const auto world = rank.open();
  constexpr auto computing = 20ms;
  rank.run([&](rank_client& client) {
    auto first = client.issue(barrier_of(world)), second = client.issue(barrier_of(world));
    RANK_CHECK(client.wait(*second, 0));  // comes with the first one's answer
    std::this_thread::sleep_for(computing);
    RANK_CHECK(client.wait(*first, 0));
    std::this_thread::sleep_for(computing);
    RANK_CHECK(client.mark(2));
    RANK_CHECK(client.copied(4096, 70));
    client.leave();
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto first = rank.port.expect<to_troupe::issue>();
  const auto second = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.complete(first.operation);
  rank.port.complete(second.operation);
  const auto earlier = rank.port.expect<to_troupe::awaited>();
  const auto later = rank.port.expect<to_troupe::awaited>();
  const auto marked = rank.port.expect<to_troupe::mark>();
  const auto copied = rank.port.expect<to_troupe::copied>();
  rank.finish();
  CHECK(earlier.operations == std::vector{second.operation});
  CHECK(later.operations == std::vector{first.operation});
  const auto apart = static_cast<std::uint64_t>(std::chrono::nanoseconds(computing).count());
  CHECK(later.at_ns >= earlier.at_ns + apart);
  CHECK(marked.at_ns >= later.at_ns + apart);
  CHECK(copied.size == 4096);
  CHECK(copied.duration_ns == 70);
  CHECK(copied.at_ns >= marked.at_ns);
}

TEST_CASE("a synchronous call is one write") {
  connected_rank rank;
  const auto world = rank.open();
  std::string buffer = "ab";
  rank.run([&](rank_client& client) {
    const troupe_input in{buffer.data(), 2};
    const troupe_output out{buffer.data(), 2};
    RANK_CHECK(client.issue_and_wait(all_reduce_of(world, in, {&out, 1})));
  });
  const auto written = rank.port.next_write();
  REQUIRE(written.size() == 4);  // open, call site, issue, blocked
  const auto& issue = std::get<to_troupe::issue>(written[2]);
  CHECK(std::get<to_troupe::blocked>(written[3]).operations == std::vector{issue.operation});
  rank.port.complete(issue.operation, {bytes_from("xy")});
  rank.finish();
  CHECK(buffer == "xy");
}

TEST_CASE("send and recv have no sequence number and collectives none between them") {
  connected_rank rank;
  const auto world = rank.open();
  rank.run([&](rank_client& client) {
    rank_client::posting send{world, {}, {}, {}, {}};
    send.call.op = operation::send;
    RANK_CHECK(client.issue(send));
    send.call.op = operation::barrier;
    RANK_CHECK(client.issue(send));
    send.call.op = operation::recv;
    RANK_CHECK(client.issue(send));
    send.call.op = operation::barrier;
    RANK_CHECK(client.issue(send));
  });
  rank.port.expect<to_troupe::open_communicator>();
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 0);
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 1);
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 0);
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 2);
}

TEST_CASE("large inputs go through a leased region that is reused once its header is 0") {
  connected_rank rank;
  const auto world = rank.open();
  std::string input(10'000, '\0');
  std::iota(input.begin(), input.end(), '\0');
  std::string output(10'000, '?');
  const troupe_input in{input.data(), input.size()};
  const troupe_output out{output.data(), output.size()};
  auto posting = [&] { return all_reduce_of(world, in, {&out, 1}); };
  std::atomic<int> step = 0;
  rank.run([&](rank_client& client) {
    RANK_CHECK(client.issue_and_wait(posting()));
    RANK_CHECK(client.issue(posting()));  // while the first region still has a reader
    while (step < 1) std::this_thread::yield();
    RANK_CHECK(client.issue(posting()));
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto extent = rank.port.give_lease(rank.port.expect<to_troupe::lease>());
  CHECK(extent.length == MiB);
  rank.port.expect<to_troupe::call_site>();
  const auto first = rank.port.expect<to_troupe::issue>();
  const auto where = std::get<region>(first.payload);
  CHECK(where.length == input.size());
  CHECK(where.header >= extent.offset);
  CHECK(where.offset + where.length <= extent.offset + extent.length);
  const auto held = rank.port.bytes_of(where);
  CHECK(std::memcmp(held.data(), input.data(), input.size()) == 0);
  CHECK(rank.port.header_of(where).state == region_header::posted);
  rank.port.expect<to_troupe::blocked>();

  // The result in two regions of others, and in ours for another reader.
  rank.port.header_of(where).state = 1;
  const auto a = rank.port.result_region(std::string(4'000, 'a'), 3);
  const auto b = rank.port.result_region(std::string(8'000, 'b'), 1);
  auto slice = b;
  slice.offset += 1'000;
  slice.length = 6'000;
  rank.port.complete(first.operation, {a, slice});
  rank.port.expect<to_troupe::awaited>();
  const auto second = rank.port.expect<to_troupe::issue>();
  CHECK(output == std::string(4'000, 'a') + std::string(6'000, 'b'));
  CHECK(rank.port.header_of(a).state == 2);
  CHECK(rank.port.header_of(b).state == 0);
  CHECK(std::get<region>(second.payload).offset != where.offset);

  rank.port.header_of(where).state = 0;
  step = 1;
  const auto third = rank.port.expect<to_troupe::issue>();
  CHECK(std::get<region>(third.payload) == where);
}

TEST_CASE("a small input whose result is large goes through a region") {
  connected_rank rank;
  const auto world = rank.open();
  std::string output(fake_port::inline_limit + 1, '?');
  rank.run([&](rank_client& client) {
    const troupe_input in{"abc", 3};
    const troupe_output out{output.data(), output.size()};
    RANK_CHECK(client.issue(all_reduce_of(world, in, {&out, 1})));
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.give_lease(rank.port.expect<to_troupe::lease>());
  rank.port.expect<to_troupe::call_site>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  CHECK(std::holds_alternative<region>(issue.payload));
}

TEST_CASE("a payload that fits no extent leases a larger one, and a refusal is the caller's") {
  connected_rank rank;
  const auto world = rank.open();
  std::string input(3 * MiB, 'x');
  rank.run([&](rank_client& client) {
    const troupe_input in{input.data(), input.size()};
    const troupe_output out{input.data(), input.size()};
    RANK_CHECK(client.issue(all_reduce_of(world, in, {&out, 1})));
    RANK_CHECK(client.issue(all_reduce_of(world, in, {&out, 1})));  // two of 3 MiB fit 8 MiB
    auto refused = client.issue(all_reduce_of(world, in, {&out, 1}));
    RANK_CHECK(!refused);
    RANK_CHECK(refused.error().code == errc::no_resources);
    RANK_CHECK(refused.error().context == "the pool is full");
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto lease = rank.port.expect<to_troupe::lease>();
  CHECK(lease.size == 8 * MiB);
  rank.port.give_lease(lease);
  rank.port.expect<to_troupe::call_site>();
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 1);
  CHECK(rank.port.expect<to_troupe::issue>().sequence.value == 2);
  const auto second = rank.port.expect<to_troupe::lease>();
  rank.port.send(to_rank::leased{second.operation, {errc::no_resources, "the pool is full"}, {}});
  rank.finish();
}

TEST_CASE("a result of another size is an error, not a partial write") {
  connected_rank rank;
  const auto world = rank.open();
  std::string output = "????";
  outcome seen;
  const auto text = GENERATE(std::string("abc"), std::string("abcde"));
  rank.run([&](rank_client& client) {
    const troupe_input in{"abcd", 4};
    const troupe_output out{output.data(), 4};
    auto posting = all_reduce_of(world, in, {&out, 1});
    posting.done = outcome::note;
    posting.argument = &seen;
    auto done = client.issue_and_wait(posting);
    RANK_CHECK(!done);
    RANK_CHECK(done.error().code == errc::mismatch);
    RANK_CHECK(done.error().context.find("all_reduce 1: the result has") == 0);
  });
  const auto written = rank.port.next_write();
  const auto issue = std::get<to_troupe::issue>(written[2]);
  const auto where = rank.port.result_region(text, 1);
  rank.port.complete(issue.operation, {where});
  rank.finish();
  CHECK(output == "????");
  CHECK(seen.calls == 1);
  CHECK(seen.status == static_cast<int>(errc::mismatch));
  CHECK(rank.port.header_of(where).state == 0);
}

TEST_CASE("a region that lies outside the pools fails the operation") {
  connected_rank rank;
  const auto world = rank.open();
  std::string output = "????";
  rank.run([&](rank_client& client) {
    const troupe_input in{"abcd", 4};
    const troupe_output out{output.data(), 4};
    auto posting = all_reduce_of(world, in, {&out, 1});
    auto done = client.issue_and_wait(posting);
    RANK_CHECK(!done);
    RANK_CHECK(done.error().code == errc::bad_input);
  });
  const auto issue = std::get<to_troupe::issue>(rank.port.next_write()[2]);
  rank.port.complete(issue.operation, {region{0, fake_port::pool_bytes - 2, 4, 0}});
  rank.finish();
  CHECK(output == "????");
}

TEST_CASE("an operation's own error reaches every waiter with its text") {
  connected_rank rank;
  const auto world = rank.open();
  rank.run([&](rank_client& client) {
    auto issued = client.issue(barrier_of(world));
    for (int i = 0; i < 2; ++i) {
      auto waited = client.wait(*issued, 0);
      RANK_CHECK(!waited);
      RANK_CHECK(waited.error().code == errc::mismatch);
      RANK_CHECK(waited.error().context == "rank 1 called all_reduce");
    }
    RANK_CHECK(client.wait({77}, 0).error().code == errc::usage);
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.complete(issue.operation, {}, {errc::mismatch, "rank 1 called all_reduce"});
  rank.finish();
}

TEST_CASE("a wait's timeout leaves the operation as it is and takes the slot back") {
  connected_rank rank;
  const auto world = rank.open();
  rank.run([&](rank_client& client) {
    auto issued = client.issue(barrier_of(world));
    auto waited = client.wait(*issued, 20'000'000);
    RANK_CHECK(!waited);
    RANK_CHECK(waited.error().code == errc::timed_out);
    RANK_CHECK(client.wait(*issued, 0));
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.holds_slot() = 0;
  rank.port.expect<to_troupe::take_slot>();
  rank.port.grant();
  rank.port.expect<to_troupe::blocked>();
  rank.port.complete(issue.operation);
  rank.finish();
}

TEST_CASE("a test that finds nothing lets others go first, then looks again") {
  connected_rank rank;
  const auto world = rank.open();
  rank.run([&](rank_client& client) {
    auto issued = client.issue(barrier_of(world));
    RANK_CHECK(!(*client.test(*issued)));
    RANK_CHECK(*client.test(*issued));
    RANK_CHECK(*client.test(*issued));
    RANK_CHECK(client.mark(2));
    client.leave();
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  rank.port.expect<to_troupe::yielded>();
  rank.port.complete(issue.operation);
  rank.port.grant();
  CHECK(rank.port.expect<to_troupe::awaited>().operations == std::vector{issue.operation});
  CHECK(rank.port.expect<to_troupe::mark>().kind == 2);
  rank.port.expect<to_troupe::leave>();
  rank.finish();
  CHECK(rank.losses.empty());
}

TEST_CASE("without its runner a rank's calls fail and what was pending is told") {
  connected_rank rank;
  const auto world = rank.open();
  outcome seen;
  rank.run([&](rank_client& client) {
    auto barrier = barrier_of(world);
    barrier.done = outcome::note;
    barrier.argument = &seen;
    auto issued = client.issue(barrier);
    RANK_CHECK(client.wait(*issued, 0).error().code == errc::lost_rank);
    RANK_CHECK(client.issue(barrier).error().code == errc::lost_rank);
    RANK_CHECK(client.ask_store({}).error().code == errc::lost_rank);
    RANK_CHECK(client.yield().error().code == errc::lost_rank);
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.hang_up();
  rank.finish();
  CHECK(seen.calls == 1);
  CHECK(seen.status == static_cast<int>(errc::lost_rank));
  CHECK(rank.losses.size() == 1);
}

TEST_CASE("an answer that nothing waits for is not believed") {
  connected_rank rank;
  rank.run([&](rank_client& client) { RANK_CHECK(!client.yield()); });
  rank.port.expect<to_troupe::yielded>();
  rank.port.complete({12});
  rank.finish();
  RANK_CHECK(rank.losses.size() == 1);
  RANK_CHECK(rank.losses[0].code == errc::bad_input);
}

TEST_CASE("what a companion opens, calls and aborts says that it is the companion's") {
  connected_rank rank;
  const auto world = rank.client->world();
  const std::vector<rank_id> members{{0}, rank_of({0}, 2, world)};
  const auto lead = rank.client->open_communicator(members, semantics::nccl, "pair", 5);
  const auto other = rank.client->open_communicator(members, semantics::nccl, "pair", 5, 2);
  REQUIRE(lead);
  REQUIRE(other);
  CHECK(*lead != *other);
  CHECK_FALSE(rank.client->open_communicator(members, semantics::nccl, "pair", 5, 1));
  CHECK_FALSE(
      rank.client->open_communicator(members, semantics::nccl, "pair", 5, companions_max + 1));
  const std::string input = "ab";
  std::string output(2, '?');
  rank.run([&](rank_client& client) {
    const troupe_input in{input.data(), input.size()};
    const troupe_output out[1] = {{output.data(), 2}};
    RANK_CHECK(client.issue_and_wait(all_reduce_of(*other, in, out)));
    RANK_CHECK(client.abort(*other));
  });
  CHECK(rank.port.expect<to_troupe::open_communicator>().companion == 0);
  const auto opened = rank.port.expect<to_troupe::open_communicator>();
  CHECK(opened.companion == 2);
  CHECK(opened.communicator == *lead);
  rank.port.expect<to_troupe::call_site>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  CHECK(issue.communicator == opened.communicator);
  CHECK(companion_of(issue.operation) == 2);
  CHECK(issue.sequence == sequence_number{1});
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{issue.operation});
  rank.port.complete(issue.operation, {bytes_from("cd")});
  CHECK(rank.port.expect<to_troupe::awaited>().operations == std::vector{issue.operation});
  const auto aborted = rank.port.expect<to_troupe::abort_communicator>();
  CHECK(aborted.companion == 2);
  CHECK(aborted.communicator == opened.communicator);
  rank.finish();
  CHECK(output == "cd");
}
