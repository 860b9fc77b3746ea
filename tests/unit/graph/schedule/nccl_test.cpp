// nccl: NCCL's rings and trees do what their collectives are, in NCCL's channels, chunks, slices
// and bytes.
#include "graph/schedule/nccl.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/graph/schedule/executed.hpp"

using namespace troupe;

namespace {

using variables = std::vector<std::pair<std::string, std::string>>;

nccl_settings parsed(const variables& environment) {
  auto settings = parse_nccl_settings(environment);
  INFO((settings ? "" : settings.error().context));
  REQUIRE(settings);
  return *settings;
}

std::vector<collective_shape> shapes_of(operation op, std::uint32_t members, std::uint64_t elements,
                                        std::uint32_t element_bytes = 8, std::uint32_t root = 0) {
  std::vector<collective_shape> shapes;
  for (std::uint32_t self = 0; self < members; ++self)
    shapes.push_back(even_shape(op, members, elements, self, element_bytes, root));
  return shapes;
}

constexpr operation functions[] = {operation::all_reduce,     operation::all_gather,
                                   operation::reduce_scatter, operation::broadcast,
                                   operation::reduce,         operation::barrier};

execution check(operation op, std::uint32_t members, std::uint64_t elements,
                const host_layout& hosts, const nccl_settings& settings, std::uint32_t root = 0) {
  const bool is_by_parts = op == operation::all_gather || op == operation::reduce_scatter;
  const auto shapes =
      shapes_of(op, members, is_by_parts ? elements / members * members : elements, 8, root);
  auto run = checked(shapes, {.how = algorithm::nccl, .nccl = settings, .hosts = &hosts}, elements);
  INFO(to_string(op) << " of " << members << " on " << hosts.hosts() << " hosts, " << elements
                     << " elements: " << run.wrong.value_or(""));
  REQUIRE_FALSE(run.wrong);
  return run;
}

}  // namespace

TEST_CASE("NCCL's schedules do their collectives, in every protocol, on any hosts") {
  for (const auto* protocol : {"LL", "LL128", "Simple"})
    for (const auto* algorithm : {"AllReduce:Tree", "Ring"}) {
      const auto settings = parsed({{"NCCL_PROTO", protocol}, {"NCCL_ALGO", algorithm}});
      for (std::uint32_t n = 1; n <= 17; ++n)
        for (const std::uint32_t per_host : {1, 2, 3, 8}) {
          const auto hosts = host_layout::consecutive(n, per_host);
          for (const auto op : functions)
            for (const std::uint64_t elements : {1u, n, 100u})
              check(op, n, elements, hosts, settings, n / 2);
        }
    }
}

TEST_CASE("NCCL's schedules do their collectives in many channels, loops and chunks") {
  for (const auto* protocol : {"LL", "LL128", "Simple"})
    for (const auto* algorithm : {"AllReduce:Tree", "Ring"}) {
      auto settings = parsed({{"NCCL_PROTO", protocol}, {"NCCL_ALGO", algorithm}});
      settings.channels = 6;
      settings.buffer_bytes = {{8 * 2048, 8 * 2048, 8 * 1024}};
      for (const auto& [n, per_host] : {std::pair{5u, 2u}, {8u, 4u}, {9u, 3u}, {4u, 4u}}) {
        const auto hosts = host_layout::consecutive(n, per_host);
        for (const auto op : functions)
          for (const std::uint64_t elements : {9999, 40000, 70001})
            check(op, n, elements, hosts, settings, n - 1);
      }
    }
}

TEST_CASE("members of a host need not stand together in the group") {
  const std::vector<std::uint32_t> host_of{5, 2, 5, 9, 2, 5, 9};
  const host_layout hosts(host_of);
  CHECK((hosts.hosts() == 3 && hosts.largest() == 3));
  CHECK((hosts.host(3) == 2 && hosts.seat(5) == 2 && hosts.member(1, 1) == 4));
  for (const auto* algorithm : {"AllReduce:Tree", "Ring"})
    for (const auto op : functions)
      check(op, 7, 50, hosts, parsed({{"NCCL_ALGO", algorithm}, {"NCCL_PROTO", "LL"}}), 6);
}

TEST_CASE("a ring crosses between hosts once a host and channel") {
  const auto hosts = host_layout::consecutive(24, 8);
  const auto settings = parsed({{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}});
  const auto shapes = shapes_of(operation::all_gather, 24, 24 << 20, 4);
  std::vector<std::uint32_t> enters(3);
  for (std::uint32_t self = 0; self < 24; ++self) {
    transfer_program program;
    REQUIRE(write_program(shapes[self], self,
                          {.how = algorithm::nccl, .nccl = settings, .hosts = &hosts}, program));
    std::vector<bool> seen(64);
    for (const auto& step : program.steps())
      if (step.kind == step_kind::recv && !seen[step.lane]) {
        seen[step.lane] = true;
        if (hosts.host(step.peer) != hosts.host(self)) {
          ++enters[hosts.host(self)];
          CHECK(hosts.seat(self) == step.lane % 8);
        }
      }
  }
  CHECK(enters == std::vector<std::uint32_t>{16, 16, 16});
}

TEST_CASE("a ring all-reduce puts 2(n-1)/n of the bytes on the wire, and its protocol's share") {
  const auto sent = [](const char* protocol, std::uint32_t n, std::uint64_t elements) {
    const auto hosts = host_layout::consecutive(n, 1);
    return check(operation::all_reduce, n, elements, hosts,
                 parsed({{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", protocol}}))
        .bytes;
  };
  const std::uint64_t bytes = 8 * 98304;  // parts of whole lines of every protocol
  for (const std::uint32_t n : {2, 4, 8}) {
    const auto least = 2 * (n - 1) * bytes;
    CHECK(sent("Simple", n, bytes / 8) == least);
    CHECK(sent("LL", n, bytes / 8) == 2 * least);
    const auto ll128 = static_cast<double>(sent("LL128", n, bytes / 8));
    CHECK(ll128 >= static_cast<double>(least) * 128 / 120);
    CHECK(ll128 < static_cast<double>(least) * 128 / 120 * 1.05);
  }
  CHECK(sent("LL", 3, 1) == 4 * 16);  // the only chunk that is not empty, 4 times
  CHECK(sent("LL128", 3, 1) == 4 * 2048);
  CHECK(sent("Simple", 3, 1) == 4 * 8);
  CHECK(wire_bytes(nccl_protocol::ll, 9) == 32);
  CHECK(wire_bytes(nccl_protocol::ll128, 1920) == 2048);
  CHECK(wire_bytes(nccl_protocol::ll128, 1921) == 4096);
}

TEST_CASE("chunks, slices and channels are those of NCCL's buffers") {
  const auto plan_of = [](operation op, std::uint64_t bytes, std::uint32_t members,
                          const variables& environment) {
    const auto plan = make_nccl_plan(even_shape(op, members, bytes, 0),
                                     host_layout::consecutive(members, 8), parsed(environment));
    REQUIRE(plan);
    return *plan;
  };
  const auto simple = plan_of(operation::all_reduce, 1 << 30, 16,
                              {{"NCCL_ALGO", "ring"}, {"NCCL_PROTO", "simple"}});
  CHECK(simple.parts.size() == 16);
  CHECK((simple.parts[0].chunk == 2 << 20 && simple.parts[3].count == 1 << 26));
  CHECK(plan_of(operation::broadcast, 1 << 30, 16, {{"NCCL_PROTO", "Simple"}}).parts[0].chunk
        == 512 << 10);
  const auto ll = plan_of(operation::all_reduce, 1 << 20, 16, {{"NCCL_PROTO", "LL"}});
  CHECK(ll.parts[0].chunk == 32768);
  const auto ll128 = plan_of(operation::all_gather, 16 << 20, 16, {{"NCCL_PROTO", "LL128"}});
  CHECK(ll128.parts[0].chunk == 576000);
  CHECK(plan_of(operation::all_reduce, 8, 16, {}).parts.size() == 1);
  CHECK(plan_of(operation::all_reduce, 1 << 30, 16, {{"NCCL_MAX_NCHANNELS", "3"}}).parts.size()
        == 3);
  CHECK(plan_of(operation::all_reduce, 1 << 30, 16, {{"NCCL_MIN_NCHANNELS", "32"}}).parts.size()
        == 32);
  for (const std::uint64_t bytes :
       {1, 1000, 100000, 12345678}) {  // nothing is lost, or twice there
    std::uint64_t next = 0;
    for (const auto& part : plan_of(operation::all_reduce, bytes, 16, {}).parts) {
      CHECK((part.begin == next && part.count > 0 && part.chunk > 0));
      next += part.count;
    }
    CHECK(next == bytes);
  }
}

TEST_CASE("small all-reduces go along trees in LL, large ones along rings in Simple") {
  const auto hosts = host_layout::consecutive(64, 8);
  const auto chosen = [&](operation op, std::uint64_t bytes) {
    const auto plan = make_nccl_plan(even_shape(op, 64, bytes, 0), hosts, {});
    REQUIRE(plan);
    return std::pair{plan->how, plan->protocol};
  };
  CHECK(chosen(operation::all_reduce, 8) == std::pair{nccl_algorithm::tree, nccl_protocol::ll});
  CHECK(chosen(operation::all_reduce, std::uint64_t{4} << 30)
        == std::pair{nccl_algorithm::ring, nccl_protocol::simple});
  CHECK(chosen(operation::all_gather, 64) == std::pair{nccl_algorithm::ring, nccl_protocol::ll});
}

TEST_CASE("NCCL's lists are read as NCCL reads them, and what it would refuse is refused") {
  const auto some = parsed({{"NCCL_ALGO", "^Tree;allreduce:TREE,ring"},
                            {"NCCL_PROTO", "LL,Simple;AllGather:^ll"},
                            {"NCCL_IB_HCA", "mlx5_0"},
                            {"NCCL_MAX_NCHANNELS", "100"},
                            {"NCCL_BUFFSIZE", "8388608"}});
  using f = nccl_function;
  CHECK_FALSE(some.algorithms[f::broadcast][nccl_algorithm::tree]);
  CHECK(some.algorithms[f::broadcast][nccl_algorithm::nvls]);
  CHECK(some.algorithms[f::all_reduce][nccl_algorithm::tree]);
  CHECK_FALSE(some.algorithms[f::all_reduce][nccl_algorithm::pat]);
  CHECK(some.protocols[f::reduce][nccl_protocol::simple]);
  CHECK_FALSE(some.protocols[f::reduce][nccl_protocol::ll128]);
  CHECK_FALSE(some.protocols[f::all_gather][nccl_protocol::ll]);
  CHECK(some.protocols[f::all_gather][nccl_protocol::ll128]);
  CHECK(some.channels_max == 64);
  CHECK(some.buffer_bytes[nccl_protocol::simple] == 8388608);
  const auto refused = [](const char* name, const char* value) {
    const auto settings = parse_nccl_settings({{name, value}});
    REQUIRE_FALSE(settings);
    CHECK(settings.error().code == errc::usage);
    return settings.error().context;
  };
  CHECK(refused("NCCL_PROTO", "LL256") == "NCCL_PROTO: there is no LL256 (LL, LL128, Simple)");
  CHECK_THAT(refused("NCCL_ALGO", "alltoall:ring"), Catch::Matchers::Contains("no alltoall"));
  CHECK_THAT(refused("NCCL_ALGO", "ring;tree"), Catch::Matchers::Contains("FUNCTION:LIST"));
  CHECK_THAT(refused("NCCL_MIN_NCHANNELS", "many"), Catch::Matchers::Contains("'many'"));
  CHECK_THAT(refused("NCCL_BUFFSIZE", "12"), Catch::Matchers::Contains("65536"));
  transfer_program program;
  const auto nothing =
      write_program(even_shape(operation::broadcast, 4, 10, 0), 0,
                    {.how = algorithm::nccl, .nccl = parsed({{"NCCL_ALGO", "Tree"}})}, program);
  REQUIRE_FALSE(nothing);
  CHECK_THAT(nothing.error().context, Catch::Matchers::Contains("leave nothing for Broadcast"));
  CHECK_FALSE(write_program(even_shape(operation::all_gather, 4, 10, 0), 0,
                            {.how = algorithm::nccl}, program));
}
