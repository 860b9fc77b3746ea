// trace_expansion: graphs of small programs on a network, with times worked out by hand (L 2500, o
// 1500, g 1000, G 6).
#include "graph/goal/trace_expansion.hpp"

#include "graph/rank_timeline.hpp"
#include "tests/unit/net/traced.hpp"

using namespace troupe;

namespace {

std::uint64_t bytes_sent(const goal::schedule& what) {
  std::uint64_t bytes = 0;
  for (const auto& each : what.operations())
    if (each.kind == goal::operation_kind::send) bytes += each.size;
  return bytes;
}

}  // namespace

TEST_CASE("a message takes its time between the spans around it") {
  program_graph program(2, semantics::gloo);
  program.compute(0, 1000);
  program.call(0, message(node_kind::send, 0, 1, 1, 101));
  program.compute(0, 10);
  program.compute(1, 0);
  program.call(1, message(node_kind::recv, 0, 0, 1, 101));
  program.compute(1, 500);
  const auto done = traced(program.graph()).simulated();
  // arrives 1000 + o + L + 100 G; received after g and o
  CHECK(done.hosts_ns == hosts{2510, 1000 + 1500 + 2500 + 600 + 1000 + 1500 + 500});
  CHECK(done.findings.empty());
}

TEST_CASE("what is called without waiting goes on beside the program") {
  const auto finish = [](std::uint64_t beside_ns) {
    program_graph program(2, semantics::nccl);
    program.collective(operation::broadcast, 0, 101);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      program.compute(rank, beside_ns, false);
      program.compute(rank, 7);
    }
    return traced(program.graph()).simulated().finish_ns;
  };
  const std::uint64_t broadcast_ns = 1500 + 2500 + 600 + 1000 + 1500;
  CHECK(finish(0) == broadcast_ns + 7);
  CHECK(finish(5000) == broadcast_ns + 7);
  CHECK(finish(50'000) == 50'000 + 7);
}

TEST_CASE("two ranks that send to each other, each its recv first, go on") {
  for (const auto rules : {semantics::gloo, semantics::nccl}) {
    program_graph program(2, rules);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto peer = static_cast<std::int32_t>(1 - rank);
      program.call(rank, message(node_kind::recv, 0, peer, 1, 100'000));
      program.call(rank, message(node_kind::send, 0, peer, 1, 100'000));
      program.compute(rank, 1);
    }
    CHECK(traced(program.graph()).simulated().findings.empty());
  }
}

TEST_CASE(
    "with NCCL's rules a collective waits for the messages before it, with others it does not") {
  const auto outcome = [](semantics rules) {
    program_graph program(2, rules);
    program.call(0, message(node_kind::recv, 0, 1, 1, 8));
    program.collective(operation::barrier, 0, 0);
    program.compute(1, 5);
    program.call(1, message(node_kind::send, 0, 0, 1, 8));
    program.compute(0, 5);
    return traced(program.graph()).simulated().findings.size();
  };
  CHECK(outcome(semantics::gloo) == 0);
  CHECK(outcome(semantics::nccl) == 1);
}

TEST_CASE(
    "messages of one pair and tag match in their order, whatever communicator and tag others "
    "have") {
  program_graph program(2, semantics::gloo);
  const auto other = program.add_group({1, 0}, semantics::gloo);
  program.call(0, message(node_kind::send, 0, 1, 1, 1000));
  program.call(0, message(node_kind::send, other, 0, 1, 10));
  program.call(0, message(node_kind::send, 0, 1, 1, 20, 5));
  program.call(0, message(node_kind::send, 0, 1, 2, 30));
  program.call(1, message(node_kind::recv, 0, 0, 1, 20, 5));
  program.call(1, message(node_kind::recv, other, 1, 1, 10));
  program.call(1, message(node_kind::recv, 0, 0, 1, 1000));
  program.call(1, message(node_kind::recv, 0, 0, 2, 30));
  const auto done = traced(program.graph()).simulated();
  CHECK(done.findings.empty());
  CHECK(done.matched == 4);
  for (const auto& each : done.warnings) CHECK(each.kind.find("recv_") != 0);
}

TEST_CASE("an all_to_all moves what its members give, as evenly as it goes") {
  program_graph program(3, semantics::nccl);
  program.collective(operation::all_to_all, 0, 0);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    program.graph().ranks[rank].back().size = rank == 1 ? 0 : 7 * (rank + 1);
  traced trace(program.graph());
  const auto made = trace.expanded({.how = {.how = algorithm::pairwise}});
  REQUIRE(made);
  CHECK(bytes_sent(made->made) == 4 + 14);  // 7 is 3, 2, 2 and 21 is 7, 7, 7: all but the own part
  const auto done = simulated(made->made);
  CHECK(done.findings.empty());
  for (const auto& each : done.warnings) CHECK(each.kind.find("recv_") != 0);
}

TEST_CASE("members that give and get nothing take part in an uneven all_to_all all the same") {
  for (const auto how : {algorithm::automatic, algorithm::bruck, algorithm::pairwise,
                         algorithm::linear, algorithm::ring, algorithm::nccl})
    for (const auto gpus : {1u, 2u, 3u, 4u}) {
      program_graph program(4, semantics::nccl);
      program.collective(operation::all_to_all, 0, 0);
      program.graph().ranks[3].back().size = 2;  // a byte each to ranks 0 and 1
      for (std::uint32_t rank = 0; rank < 4; ++rank) program.compute(rank, 10);
      INFO(to_string(how) << ", " << gpus << " together");
      const auto done =
          traced(program.graph()).simulated({.how = {.how = how}, .gpus_per_node = gpus});
      CHECK(done.findings.empty());
      CHECK(done.ended == done.operations);
    }
}

TEST_CASE("ranks of one node send nothing over the network to each other") {
  program_graph program(4, semantics::nccl);
  program.collective(operation::all_gather, 0, 600);
  for (std::uint32_t rank = 0; rank < 4; ++rank) program.compute(rank, 100);
  program.call(2, message(node_kind::send, 0, 3, 1, 1000));
  program.call(3, message(node_kind::recv, 0, 2, 1, 1000));
  for (std::uint32_t rank = 0; rank < 4; ++rank) program.compute(rank, 50);
  traced trace(program.graph());
  const auto bytes_on = [&](std::uint32_t gpus) {
    const auto made = trace.expanded({.how = {.how = algorithm::ring}, .gpus_per_node = gpus});
    REQUIRE(made);
    CHECK(made->made.ranks() == (4 + gpus - 1) / gpus);
    CHECK(simulated(made->made).findings.empty());
    return bytes_sent(made->made);
  };
  CHECK(bytes_on(1) == 4 * 3 * 600 + 1000);
  CHECK(bytes_on(2) == 2 * 3 * 600);
  CHECK(bytes_on(3) == 2 * 3 * 600 + 1000);  // ranks 0 to 2, and 3
  CHECK(bytes_on(4) == 0);

  goal::trace_expansion_options inside{.gpus_per_node = 4, .inside_latency_ns = 20};
  inside.inside_ns_per_byte = 0.5;
  inside.how.how = algorithm::ring;
  // three rounds of 600 bytes, a span, 1000 bytes, a span
  CHECK(trace.simulated(inside).finish_ns == 3 * 320 + 100 + 520 + 50);
}

TEST_CASE("what no run that ended has is refused, or shows as what waits") {
  program_graph program(2, semantics::nccl);
  program.collective(operation::all_reduce, 0, 80);
  program.graph().ranks[1].pop_back();
  traced trace(program.graph());
  const auto together = trace.expanded({.gpus_per_node = 2});
  REQUIRE_FALSE(together);
  CHECK(together.error().code == errc::bad_input);
  CHECK(together.error().context.find("all_reduce 1 of communicator 0 has 1 of its members")
        != std::string::npos);
  CHECK_FALSE(trace.simulated().findings.empty());
}

TEST_CASE("what an algorithm does not know is done by another, which is told") {
  program_graph program(4, semantics::nccl);
  program.collective(operation::all_reduce, 0, 8000);
  program.collective(operation::all_to_all, 0, 8000);
  program.collective(operation::barrier, 0, 0);
  traced trace(program.graph());
  const auto used = [&](algorithm how) {
    const auto made = trace.expanded({.how = {.how = how}, .gpus_per_node = 2});
    REQUIRE(made);
    CHECK(simulated(made->made).findings.empty());
    return made->algorithms;
  };
  using set = std::set<algorithm>;
  const auto by_dissemination = used(algorithm::dissemination);
  CHECK(by_dissemination.at(operation::all_reduce) == set{algorithm::halving_doubling});
  CHECK(by_dissemination.at(operation::barrier) == set{algorithm::dissemination});
  const auto by_nccl = used(algorithm::nccl);
  CHECK(by_nccl.at(operation::all_reduce) == set{algorithm::nccl});
  CHECK(by_nccl.at(operation::all_to_all) == set{algorithm::nccl});
}

TEST_CASE("each node has its place, from which its times and its collective's follow") {
  program_graph program(2, semantics::nccl);
  program.compute(1, 400);
  program.collective(operation::broadcast, 0, 101);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    program.compute(rank, 100);
    program.mark(rank, marker_kind::optimizer_step);
    program.compute(rank, 30);
    program.mark(rank, marker_kind::optimizer_step);
  }
  const timed_graph run(program.graph());
  trace_times of(program.graph().communicators, run.times);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto timed = of.add(rank_id{rank}, program.graph().ranks[rank], run.made.places[rank]);
    const auto drawn = lay_out(timed);
    for (std::size_t i = 0; i < timed.size(); ++i)
      CHECK(drawn.end_ns[i] == run.times.end_ns(run.made.places[rank][i].end));
    std::uint64_t at = 0;
    for (const auto& each : timed)
      if (each.stream == 0) at += each.gap_ns + each.duration_ns;
    CHECK(at == of.ranks()[rank].finish_ns);
  }
  const std::uint64_t sent = 1500, received = 1500 + 2500 + 600 + 1000 + 1500;
  REQUIRE(of.collectives().size() == 1);
  const auto broadcast = of.collectives().front();
  CHECK(broadcast.count == 1);
  CHECK(broadcast.total_ns == received - 400);  // the second member begins at 400
  CHECK(broadcast.skew_ns == 400);
  CHECK(of.ranks()[0].finish_ns == sent + 130);
  CHECK(of.ranks()[1].exposed_ns == received - 400);
  CHECK(of.iterations_ns() == hosts{received + 100, 30});
}

TEST_CASE("messages under way at once are drawn to where they end") {
  program_graph program(2, semantics::nccl);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    program.call(0, message(node_kind::send, 0, 1, n, 1000 * n));
    program.call(1, message(node_kind::recv, 0, 0, n, 1000 * n));
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) program.compute(rank, 5);
  const timed_graph run(program.graph());
  trace_times of(program.graph().communicators, run.times);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto timed = of.add(rank_id{rank}, program.graph().ranks[rank], run.made.places[rank]);
    const auto drawn = lay_out(timed);
    for (std::size_t i = 0; i < timed.size(); ++i)
      CHECK(drawn.end_ns[i] == run.times.end_ns(run.made.places[rank][i].end));
  }
}

TEST_CASE("any program of any ranks ends, with any algorithm, on nodes of any size") {
  std::mt19937_64 chance(20);
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(chance() % end); };
  for (int round = 0; round < 200; ++round) {
    const auto world = 2 + below(7);
    const auto rules = below(2) ? semantics::nccl : semantics::gloo;
    program_graph program(world, rules);
    std::vector<std::vector<std::uint32_t>> groups(1);
    for (std::uint32_t rank = 0; rank < world; ++rank) groups[0].push_back(rank);
    for (auto more = below(3); more > 0; --more) {
      auto members = groups[0];
      std::shuffle(members.begin(), members.end(), chance);
      members.resize(1 + below(world));
      program.add_group(members, rules);
      groups.push_back(members);
    }
    std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, std::uint64_t> sent;
    for (int step = 0; step < 30; ++step) {
      const auto group = below(groups.size());
      const auto members = groups[group].size();
      if (below(3) > 0) {
        const auto op = static_cast<operation>(below(9));
        const auto root = below(members);
        const auto part = op == operation::barrier ? 0 : 4 * below(3) * below(2000);
        program.collective(op, group, op == operation::scatter ? part : part * members,
                           static_cast<std::int32_t>(root));
        if (op == operation::scatter)  // others say what they get
          program.graph().ranks[groups[group][root]].back().size = part * members;
      } else if (members > 1) {
        const auto from = static_cast<std::int32_t>(below(members));
        const auto to = static_cast<std::int32_t>(
            (static_cast<std::uint32_t>(from) + 1 + below(members - 1)) % members);
        const auto size = below(100'000);
        const auto sequence = ++sent[{group, from, to}];
        program.call(groups[group][static_cast<std::size_t>(from)],
                     message(node_kind::send, group, to, sequence, size));
        program.call(groups[group][static_cast<std::size_t>(to)],
                     message(node_kind::recv, group, from, sequence, size));
      }
      for (std::uint32_t rank = 0; rank < world; ++rank)
        if (below(2)) program.compute(rank, below(2000), below(2) == 0);
    }
    for (std::uint32_t rank = 0; rank < world; ++rank) program.compute(rank, 1);
    traced trace(program.graph());
    for (const auto gpus : {1u, 2u, 3u, world}) {
      INFO("round " << round << ", " << gpus << " together");
      const auto done = trace.simulated({.gpus_per_node = gpus});
      CHECK(done.findings.empty());
      CHECK(done.ended == done.operations);
      for (const auto& each : done.warnings) CHECK(each.kind.find("recv_") != 0);
    }
  }
}
