// loggops_model: its rules one by one, on schedules whose times are worked out by hand.
#include "net/loggops_model.hpp"

#include <ctime>

#include "tests/unit/net/simulated.hpp"

using namespace troupe;

namespace {

std::string ranks(std::initializer_list<const char*> bodies) {
  auto text = "num_ranks " + std::to_string(bodies.size()) + "\n";
  int rank = 0;
  for (const auto* body : bodies)
    text += "rank " + std::to_string(rank++) + " {\n" + body + "\n}\n";
  return text;
}

loggops_parameters with(receiver_model receiver) {
  loggops_parameters made;
  made.receiver = receiver;
  return made;
}

}  // namespace

TEST_CASE("a message takes o, L and the bytes' time, then g and o") {
  const auto done = simulated(ranks({"send 101b to 1", "recv 101b from 0"}));
  CHECK(done.hosts_ns == hosts{1500, 1500 + 2500 + 600 + 1000 + 1500});
  CHECK(done.matched == 1);
  CHECK(done.finish_ns == 7100);
  CHECK(simulated(ranks({"send 0b to 1", "recv 0b from 0"})).hosts_ns == hosts{1500, 6500});
}

TEST_CASE("a message above S ends its send only at its recv's end") {
  loggops_parameters parameters;
  parameters.eager_bytes_max = 100;
  const auto schedule = ranks({"a: send 101b to 1\nb: calc 10\nb requires a",
                               "a: calc 9000\nb: recv "
                               "101b from 0\nb requires a"});
  CHECK(simulated(schedule, parameters).hosts_ns == hosts{11510, 11500});
  parameters.eager_bytes_max = 101;
  CHECK(simulated(schedule, parameters).hosts_ns == hosts{1510, 11500});
}

TEST_CASE("an operation waits for the latest of its dependencies, ends and starts") {
  CHECK(
      simulated(ranks({"a: calc 700 cpu 1\nb: calc 300\nc: calc 50\nc requires a\nc irequires b"}))
          .hosts_ns
      == hosts{750});
  CHECK(simulated(
            ranks({"a: calc 1000\nb: calc 10 cpu 1\nc: calc 5 cpu 2\nb requires a\nc irequires b"}))
            .hosts_ns
        == hosts{1010});
}

TEST_CASE(
    "two messages to one host: each receiver model has its own time, and they are told apart") {
  const auto incast =
      ranks({"send 100001b to 2", "send 100001b to 2", "recv 100001b from 0\nrecv 100001b from 1"});
  loggops_parameters eager;
  eager.eager_bytes_max = 1'000'000;
  CHECK(simulated(incast, eager).finish_ns == 1500 + 2500 + 600'000 + 2 * 2500);
  eager.receiver = receiver_model::bandwidth;
  CHECK(simulated(incast, eager).finish_ns == 1500 + 2500 + 2 * 600'000 + 2500);
  eager.receiver = receiver_model::loggopsim;
  CHECK(simulated(incast, eager).finish_ns == 1500 + 2500 + 2 * 601'500);
  for (const auto receiver :
       {receiver_model::atlahs, receiver_model::loggopsim, receiver_model::bandwidth}) {
    loggops_model model(with(receiver));
    const auto said = model.description();
    CHECK(said[1].second == receiver_names[static_cast<int>(receiver)]);
  }
}

TEST_CASE(
    "messages of one source and tag are taken in the order of their sends, however they arrive") {
  // The second overtakes the first on another nic; the recv of 8 bytes is the first one's.
  const auto done =
      simulated(ranks({"a: send 50000b to 1 tag 4\nb: send 8b to 1 tag 4 cpu 1 nic 1",
                       "a: recv 50000b from 0 tag 4\nb: recv 8b from 0 tag 4 cpu 1 nic "
                       "1\nc: calc 1 cpu 1\nc requires b"}));
  const auto first_arrives = 1500 + 2500 + 49999 * 6;
  CHECK(done.hosts_ns == hosts{1500, std::uint64_t(first_arrives) + 2501});
  CHECK(done.warnings.empty());
}

TEST_CASE("a recv with a wildcard takes the first that it may, among the others in their order") {
  // Any source: rank 1's message comes first. The recv of tag 7 is posted behind it.
  const auto done = simulated(ranks(
      {"a: calc 50000\nb: recv 8b from -1 tag 7\nc: recv 8b from 1 tag 7\nd: calc 100000\nb "
       "requires a\nc requires b\nd requires b",
       "a: send 8b to 0 tag 7\nb: calc 60000\nc: send 8b to 0 tag 7\nb requires a\nc requires b",
       "calc 1"}));
  CHECK(done.findings.empty());
  CHECK(done.matched == 2);
}

TEST_CASE(
    "a busy recv goes behind the others of its tag, as ATLAHS has it, unless told otherwise") {
  // Three recvs are posted; the first message meets a busy cpu and is taken by the second recv.
  const auto schedule =
      ranks({"send 8b to 1\nsend 8b to 1",
             "calc 50000\na: recv 8b from 0\nb: recv 8b from 0\nc: calc 1000000 cpu "
             "1\nc requires a"});
  loggops_parameters parameters;
  const auto theirs = simulated(schedule, parameters);
  REQUIRE(theirs.warnings.size() == 1);
  CHECK(theirs.warnings[0].kind == "recv_put_back");
  parameters.matching = matching_rule::mpi;
  const auto in_order = simulated(schedule, parameters);
  CHECK(in_order.warnings.empty());
  CHECK(in_order.hosts_ns == hosts{3000, 1052500});
}

TEST_CASE("sizes that do not fit each other are told") {
  const auto smaller = simulated(ranks({"send 100b to 1", "recv 8b from 0"}));
  REQUIRE(smaller.warnings.size() == 1);
  CHECK(smaller.warnings[0].kind == "recv_smaller");
  CHECK_THAT(smaller.warnings[0].text,
             Catch::Matchers::Contains("operation 1 of rank 1 receives 8"));
  CHECK(simulated(ranks({"send 8b to 1", "recv 100b from 0"})).warnings.at(0).kind
        == "recv_larger");
}

TEST_CASE("noise makes things later by its seed") {
  const auto schedule = ranks({"a: calc 100000\nb: send 8b to 1\nb requires a", "recv 8b from 0"});
  loggops_parameters parameters;
  const auto quiet = simulated(schedule, parameters).finish_ns;
  parameters.noise = 0.5;
  const auto one = simulated(schedule, parameters).finish_ns;
  CHECK(one > quiet);
  CHECK(one < quiet + 51'500 + 2);
  CHECK(simulated(schedule, parameters).finish_ns == one);
  parameters.seed = 2;
  CHECK(simulated(schedule, parameters).finish_ns != one);
}

TEST_CASE("times that would not fit are refused by name") {
  const auto schedule = goal::sample::schedule_of(
      ranks({"calc 5\nsend 18446744073709551615b to 0\nrecv 18446744073709551615b from 0"}));
  loggops_model model{loggops_parameters{}};
  const auto done = simulate(schedule, model);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::bad_input);
  CHECK_THAT(done.error().context, Catch::Matchers::Contains("operation 2 of rank 0"));
}

TEST_CASE("cpus and nics with gaps between their numbers are no more than those that are used") {
  const auto done =
      simulated(ranks({"calc 10 cpu 65535\ncalc 20 cpu 300\ncalc 30 cpu 300\nsend 8b to 1 "
                       "cpu 7 nic 65000",
                       "recv 8b from 0 cpu 40000 nic 9"}));
  CHECK(done.hosts_ns == hosts{1500, 6542});
}

TEST_CASE("an interrupted simulation says so") {
  std::string many = "calc 1\n";
  for (int i = 0; i < 12; ++i) many += many;
  for (int i = 0; i < 7; ++i) many += many;
  const auto schedule = goal::sample::schedule_of(ranks({many.c_str()}));
  loggops_model model{loggops_parameters{}};
  const auto done =
      simulate(schedule, model, {.on_progress = [](auto, auto ended) { return ended == 0; }});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::interrupted);
}

TEST_CASE("twice as many that wait for one cpu, or tags of one pair, take about twice the time") {
  const auto seconds = [](const goal::schedule& schedule) {
    const auto begin = std::clock();
    const auto done = simulated(schedule);
    CHECK(done.findings.empty());
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const auto calcs = [](int count) {
    goal::schedule_builder builder;
    builder.begin_rank();
    for (int i = 0; i < count; ++i) builder.add({.kind = goal::operation_kind::calc, .size = 5});
    REQUIRE(builder.end_rank());
    return builder.finish();
  };
  const auto tags = [](std::uint32_t count) {
    goal::schedule_builder builder;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      builder.begin_rank();
      for (std::uint32_t i = 0; i < count; ++i)
        builder.add({.kind = rank == 0 ? goal::operation_kind::send : goal::operation_kind::recv,
                     .size = 8,
                     .peer = 1 - rank,
                     .tag = rank == 0 ? i : count - 1 - i});
      REQUIRE(builder.end_rank());
    }
    return builder.finish();
  };
  // Eight times as many in less than forty times the time: a square would be sixty-four.
  CHECK(seconds(calcs(800'000)) < 40 * seconds(calcs(100'000)) + 0.1);
  CHECK(seconds(tags(400'000)) < 40 * seconds(tags(50'000)) + 0.1);
}
