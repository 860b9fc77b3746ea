// collective_times: what collectives take as GOAL, where a closed form says it; and that they end
// wherever their members live.
#include <bit>

#include "graph/goal/collective_expansion.hpp"
#include "graph/goal/patterns.hpp"
#include "graph/schedule/collective_algorithm.hpp"
#include "graph/schedule/nccl_plan.hpp"
#include "tests/unit/net/simulated.hpp"

using namespace troupe;

namespace {

/// Members in ranks of up to `together`, each with a cpu of its own, one collective after another.
goal::schedule placed(operation op, std::uint32_t members, std::uint32_t together,
                      const schedule_options& how, std::uint64_t elements, std::uint32_t times) {
  std::vector<std::uint32_t> ranks, seats;
  for (std::uint32_t member = 0; member < members; ++member) {
    ranks.push_back(member / together);
    seats.push_back(member % together);
  }
  goal::expansion_options options{.lanes = lanes_of(how),
                                  .ranks = ranks,
                                  .seats = seats,
                                  .seats_max = together,
                                  .inside_ns_per_byte = 0.5,
                                  .inside_latency_ns = 100};
  goal::schedule_builder builder;
  for (std::uint32_t rank = 0; rank <= ranks.back(); ++rank) {
    builder.begin_rank();
    const auto first = rank * together, count = std::min(together, members - first);
    std::vector<transfer_program> programs(count);
    std::vector<std::vector<std::uint32_t>> ends(count);
    for (std::uint32_t time = 0; time < times; ++time) {
      options.tag = time * goal::tags_of(options);
      std::vector<goal::member_part> parts;
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto shape = even_shape(op, members, elements, first + i);
        REQUIRE(write_program(shape, first + i, how, programs[i]));
        parts.push_back({&programs[i], first + i, static_cast<std::uint16_t>(i), 0, ends[i]});
      }
      ends = goal::expand_together(parts, options, builder);
    }
    REQUIRE(builder.end_rank());
  }
  return builder.finish();
}

void require_ends(const goal::schedule& schedule, const loggops_parameters& parameters) {
  const auto done = simulated(schedule, parameters);
  REQUIRE(done.findings.empty());
  REQUIRE(done.ended == schedule.size());
  for (const auto& each : done.warnings) REQUIRE(std::string(each.kind).find("recv_") != 0);
}

}  // namespace

TEST_CASE("collectives end whether their members share ranks or not") {
  loggops_parameters rendezvous;
  rendezvous.eager_bytes_max = 0;
  for (const auto how : algorithms())
    for (const auto op : {operation::all_reduce, operation::all_gather, operation::reduce_scatter,
                          operation::broadcast, operation::reduce, operation::gather,
                          operation::scatter, operation::all_to_all, operation::barrier})
      if (knows(how, op))
        for (const auto& [members, together] :
             {std::pair{7u, 1u}, {8u, 2u}, {7u, 3u}, {6u, 6u}, {12u, 4u}}) {
          INFO(to_string(how) << " " << to_string(op) << ", " << members << " in ranks of "
                              << together);
          const auto schedule =
              placed(op, members, together, {.how = how, .chunk_bytes = 10}, 10 * members, 2);
          require_ends(schedule, {});
          require_ends(schedule, rendezvous);
        }
}

TEST_CASE("within one rank a collective is made of calcs, of its bytes and messages") {
  const auto schedule = placed(operation::all_gather, 4, 4, {.how = algorithm::ring}, 400, 1);
  for (const auto& each : schedule.operations())
    REQUIRE((each.kind == goal::operation_kind::calc && each.size == 150));
  CHECK(schedule.size() == 4 * 3);
  CHECK(simulated(schedule).finish_ns == 3 * 150);
}

TEST_CASE("a ring all-reduce takes 2(n-1) steps of a message and its overheads") {
  for (const std::uint32_t n : {2, 3, 8, 16, 33})
    for (const std::uint64_t piece : {1, 100, 65536, 1000000})
      for (const double gap : {0.0, 0.25, 6.0})
        for (const double overhead : {0.0, 0.5}) {
          loggops_parameters parameters;
          parameters.overhead_ns = 700;
          parameters.gap_ns = 30;
          parameters.gap_per_byte_ns = gap;
          parameters.overhead_per_byte_ns = overhead;
          parameters.eager_bytes_max = piece;  // a send that waits holds the cpu its recv needs
          const auto schedule =
              goal::make_pattern("ring-all-reduce", {.ranks = n, .size = n * piece});
          REQUIRE(schedule);
          const auto part = [&](double of) {
            return static_cast<std::uint64_t>(static_cast<double>(piece - 1) * of);
          };
          const auto step = 2 * (700 + part(overhead)) + 2500 + 30 + part(gap);
          INFO(n << " ranks, " << piece << " bytes, G " << gap << ", O " << overhead);
          REQUIRE(simulated(*schedule, parameters).finish_ns == 2 * (n - 1) * step);
        }
}

TEST_CASE("NCCL's ring in LL takes 2(n-1) steps of a chunk's bytes on the wire") {
  const auto settings = parse_nccl_settings(
      {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}, {"NCCL_MAX_NCHANNELS", "1"}});
  REQUIRE(settings);
  for (const std::uint32_t n : {2, 3, 8, 16})
    for (const std::uint64_t piece : {16, 1600, 32768}) {
      loggops_parameters parameters;
      parameters.overhead_ns = 200;
      parameters.gap_ns = 5;
      parameters.gap_per_byte_ns = 0.04;
      parameters.eager_bytes_max = 1 << 20;
      const auto schedule =
          goal::make_pattern("nccl-all-reduce", {.ranks = n, .size = n * piece, .nccl = *settings});
      REQUIRE(schedule);
      const auto wire = wire_bytes(nccl_protocol::ll, piece);
      const auto on_the_way = static_cast<std::uint64_t>(static_cast<double>(wire - 1) * 0.04);
      INFO(n << " ranks, " << piece << " bytes");
      CHECK(simulated(*schedule, parameters).finish_ns
            == 2 * (n - 1) * (2 * 200 + 2500 + 5 + on_the_way));
    }
}

TEST_CASE("a dissemination barrier takes its rounds, a binomial broadcast the tree's depth") {
  loggops_parameters parameters;
  parameters.latency_ns = 1000;
  parameters.overhead_ns = 0;
  parameters.gap_ns = 0;
  parameters.gap_per_byte_ns = 0;
  for (const auto& [n, rounds] : {std::pair{2u, 1u}, {5u, 3u}, {16u, 4u}, {17u, 5u}, {100u, 7u}})
    for (const auto* name : {"dissemination-barrier", "binomial-broadcast", "bruck-all-gather"}) {
      const auto schedule = goal::make_pattern(name, {.ranks = n, .size = 8});
      REQUIRE(schedule);
      const auto depth = std::string(name) == "binomial-broadcast" ? std::bit_width(n) - 1 : rounds;
      INFO(name << " of " << n);
      CHECK(simulated(*schedule, parameters).finish_ns == depth * 1000);
    }
}
