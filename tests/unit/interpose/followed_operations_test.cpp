// A library's part of a rank's calls: operations that are followed or wanted no more, communicators
// with an ordinal of the library's own.
#include "interpose/client/rank_client.hpp"

#include <catch2/catch.hpp>

#include "call_outcome.hpp"
#include "fake_port.hpp"

using namespace troupe;
using namespace std::chrono_literals;

TEST_CASE("a result that is wanted no more touches nothing, and its callback is not called") {
  connected_rank rank;
  const auto world = rank.open();
  std::string input = "abcdefgh", untouched(8, '?'), wanted(8, '?');
  outcome dropped, kept;
  rank.run([&](rank_client& client) {
    const troupe_input in{input.data(), input.size()};
    const troupe_output first{untouched.data(), 8}, second{wanted.data(), 8};
    auto posting = all_reduce_of(world, in, {&first, 1});
    posting.done = outcome::note;
    posting.argument = &dropped;
    auto issued = client.issue(posting);
    RANK_CHECK(issued);
    RANK_CHECK(*client.abandon(*issued));
    auto other = all_reduce_of(world, in, {&second, 1});
    other.done = outcome::note;
    other.argument = &kept;
    auto later = client.issue(other);
    RANK_CHECK(later);
    RANK_CHECK(client.wait(*later, 0));
    RANK_CHECK(!*client.abandon(*later));
    RANK_CHECK(!client.abandon({99}));
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::call_site>();
  const auto one = rank.port.expect<to_troupe::issue>();
  const auto other = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.complete(one.operation, {inline_bytes(3, 'x')});  // not even of the right size
  rank.port.complete(other.operation, {inline_bytes(8, 'y')});
  rank.finish();
  CHECK(untouched == "????????");
  CHECK(wanted == "yyyyyyyy");
  CHECK(dropped.calls == 0);
  CHECK(kept.calls == 1);
}

TEST_CASE("an operation that is followed is answered while nobody waits for it") {
  connected_rank rank;
  const auto world = rank.open();
  std::string input = "abcdefgh", output(8, '?');
  outcome seen;
  rank.run([&](rank_client& client) {
    const troupe_input in{input.data(), input.size()};
    const troupe_output out{output.data(), 8};
    auto posting = all_reduce_of(world, in, {&out, 1});
    posting.done = outcome::note;
    posting.argument = &seen;
    auto issued = client.issue(posting);
    RANK_CHECK(issued);
    RANK_CHECK(client.follow(*issued));
    while (seen.calls == 0) std::this_thread::yield();
    RANK_CHECK(seen.thread != std::this_thread::get_id());
    RANK_CHECK(client.abort(world));
    RANK_CHECK(!client.abort({77}));
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::call_site>();
  rank.port.complete(rank.port.expect<to_troupe::issue>().operation, {inline_bytes(8, 'y')});
  CHECK(rank.port.expect<to_troupe::abort_communicator>().communicator == world);
  rank.finish();
  CHECK(output == "yyyyyyyy");
}

TEST_CASE("a communicator that is opened with an ordinal is not counted") {
  connected_rank rank;
  const std::vector<rank_id> both{{0}, {1}};
  rank.run([&](rank_client& client) {
    auto agreed = client.open_communicator(both, semantics::nccl, "agreed", 7);
    auto first = client.open_communicator(both, semantics::nccl, "first");
    RANK_CHECK(agreed && first);
    RANK_CHECK(*agreed == make_communicator_id(both, 7));
    RANK_CHECK(*first == make_communicator_id(both, 0));
    RANK_CHECK(client.yield());
  });
  CHECK(rank.port.expect<to_troupe::open_communicator>().ordinal == 7);
  CHECK(rank.port.expect<to_troupe::open_communicator>().ordinal == 0);
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  rank.finish();
}
