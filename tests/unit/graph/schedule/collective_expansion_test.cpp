// collective_expansion: operations, dependencies and tags of a member's part.
#include "graph/goal/collective_expansion.hpp"

#include "graph/schedule/collective_algorithm.hpp"
#include "tests/unit/graph/goal_sample.hpp"

using namespace troupe;
using goal::operation_kind;

namespace {

transfer_program program_of(operation op, std::uint32_t members, std::uint64_t elements,
                            std::uint32_t self, const schedule_options& how) {
  transfer_program program;
  REQUIRE(write_program(even_shape(op, members, elements, self), self, how, program));
  return program;
}

}  // namespace

TEST_CASE("a member's part comes after what it is told, and its end is what nothing in it awaits") {
  goal::schedule_builder builder;
  builder.begin_rank();
  const auto before = builder.add({.kind = operation_kind::calc, .size = 5});
  const std::vector<std::uint32_t> world{4, 7, 9};
  const auto program = program_of(operation::all_reduce, 3, 30, 1, {.how = algorithm::ring});
  const auto ends =
      goal::expand({.program = &program, .member = 1, .cpu = 2, .nic = 1, .after = {&before, 1}},
                   {.tag = 77, .ranks = world}, builder);
  REQUIRE(builder.end_rank());
  CHECK(ends == std::vector<std::uint32_t>{7, 8});
  CHECK(goal::sample::text_of(builder.finish()) == R"(num_ranks 1

rank 0 {
l1: calc 5
l2: send 10b to 9 tag 77 cpu 2 nic 1
l3: recv 10b from 4 tag 77 cpu 2 nic 1
l4: send 10b to 9 tag 77 cpu 2 nic 1
l5: recv 10b from 4 tag 77 cpu 2 nic 1
l6: send 10b to 9 tag 77 cpu 2 nic 1
l7: recv 10b from 4 tag 77 cpu 2 nic 1
l8: send 10b to 9 tag 77 cpu 2 nic 1
l9: recv 10b from 4 tag 77 cpu 2 nic 1
l2 requires l1
l3 requires l1
l4 requires l2
l5 requires l2
l4 requires l3
l5 requires l3
l6 requires l4
l7 requires l4
l6 requires l5
l7 requires l5
l8 requires l6
l9 requires l6
l8 requires l7
l9 requires l7
}
)");
}

TEST_CASE("where there is nothing to do, the end is what came before") {
  goal::schedule_builder builder;
  builder.begin_rank();
  std::vector<std::uint32_t> before;
  for (int i = 0; i < 3; ++i) before.push_back(builder.add({.kind = operation_kind::calc}));
  const auto program = program_of(operation::all_to_all, 1, 30, 0, {.how = algorithm::linear});
  CHECK(goal::expand({.program = &program, .after = before}, {}, builder) == before);
  CHECK(builder.rank_size() == 3);
}

TEST_CASE("many ends become one, and many beginnings wait for one") {
  goal::schedule_builder builder;
  builder.begin_rank();
  std::vector<std::uint32_t> before;
  for (int i = 0; i < 3; ++i) before.push_back(builder.add({.kind = operation_kind::calc}));
  const auto program = program_of(operation::all_to_all, 9, 90, 0, {.how = algorithm::linear});
  const auto ends = goal::expand({.program = &program, .after = before}, {}, builder);
  REQUIRE(builder.end_rank());
  const auto made = builder.finish();
  CHECK(ends == std::vector<std::uint32_t>{3 + 1 + 16});
  CHECK(made.size() == 3 + 1 + 16 + 1);
  CHECK(made.dependency_count() == 3 + 16 + 16);
}

TEST_CASE("reductions and copies are calcs where they take time") {
  const auto made = [](double reduce, double copy) {
    goal::schedule_builder builder;
    builder.begin_rank();
    const auto program =
        program_of(operation::all_reduce, 2, 100, 0, {.how = algorithm::recursive_doubling});
    goal::expand({.program = &program}, {.reduce_ns_per_byte = reduce, .copy_ns_per_byte = copy},
                 builder);
    const auto ring = program_of(operation::reduce_scatter, 2, 100, 0, {.how = algorithm::ring});
    goal::expand({.program = &ring}, {.tag = 1, .reduce_ns_per_byte = reduce}, builder);
    REQUIRE(builder.end_rank());
    return builder.finish();
  };
  CHECK(made(0, 1).size() == 4);
  const auto timed = made(0.5, 0);
  REQUIRE(timed.size() == 6);
  CHECK((timed[2].kind == operation_kind::calc && timed[2].size == 50));
  CHECK((timed[5].kind == operation_kind::calc && timed[5].size == 25));
}

TEST_CASE("members of two ranks keep their messages apart by tags") {
  const std::vector<std::uint32_t> ranks{0, 0, 1, 1}, seats{0, 1, 0, 1};
  goal::schedule_builder builder;
  builder.begin_rank();
  std::vector<transfer_program> programs;
  for (std::uint32_t self = 0; self < 2; ++self)
    programs.push_back(program_of(operation::all_to_all, 4, 40, self, {.how = algorithm::linear}));
  const std::vector<goal::member_part> parts{{&programs[0], 0, 0, 0, {}},
                                             {&programs[1], 1, 1, 0, {}}};
  const goal::expansion_options options{.tag = 100, .ranks = ranks, .seats = seats, .seats_max = 2};
  CHECK(goal::tags_of(options) == 4);
  CHECK(goal::expand_together(parts, options, builder).size() == 2);
  REQUIRE(builder.end_rank());
  const auto made = builder.finish();
  std::vector<std::uint64_t> sent, got;
  for (const auto& each : made.operations()) {
    if (each.kind == operation_kind::send) sent.push_back(made.tag(each));
    if (each.kind == operation_kind::recv) got.push_back(made.tag(each));
  }
  std::sort(sent.begin(), sent.end());
  std::sort(got.begin(), got.end());
  CHECK(sent == std::vector<std::uint64_t>{100, 101, 102, 103});
  CHECK(got == sent);
}

TEST_CASE("a shape is what a graph's node says") {
  node what;
  what.kind = node_kind::collective;
  what.type = element_type::f32;
  what.size = 40;
  what.op = operation::all_gather;
  const auto gathered = shape_of(what, 1, 3);
  REQUIRE(gathered);
  CHECK((gathered->parts.total() == 30 && gathered->parts.count(2) == 10));
  what.op = operation::scatter;
  what.peer = 1;
  CHECK(shape_of(what, 0, 2)->parts.total() == 20);  // its own part
  CHECK(shape_of(what, 1, 2)->parts.total() == 10);  // the root has all of them
  what.op = operation::all_to_all;
  CHECK((shape_of(what, 0, 4)->parts.count(0) == 3 && shape_of(what, 3, 4)->incoming.total() == 8));
  what.size = 41;  // no whole number of elements
  CHECK((shape_of(what, 0, 4)->element_bytes == 1 && shape_of(what, 0, 4)->parts.total() == 41));
  what.op = operation::broadcast;
  what.peer = 4;
  CHECK(shape_of(what, 0, 4).error().code == errc::bad_input);
  what.kind = node_kind::send;
  CHECK(shape_of(what, 0, 4).error().code == errc::bad_input);
}

TEST_CASE("a call with splits has its counts, and a wrong call is refused") {
  collective_call call{.op = operation::all_to_all,
                       .type = element_type::f64,
                       .count = 5,
                       .send_counts = {2, 0, 3},
                       .recv_counts = {1, 1, 4}};
  const auto shape = shape_of(call, 0, 3);
  REQUIRE(shape);
  CHECK((shape->parts.count(2) == 3 && shape->incoming.total() == 6 && shape->element_bytes == 8));
  call.count = 6;
  CHECK(shape_of(call, 0, 3).error().code == errc::mismatch);
}

TEST_CASE("algorithms are found by name, and say what they do not know") {
  for (const auto each : algorithms()) CHECK(*parse_algorithm(to_string(each)) == each);
  CHECK(*parse_algorithm("automatic") == algorithm::automatic);
  const auto absent = parse_algorithm("butterfly");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == errc::usage);
  CHECK_THAT(absent.error().context, Catch::Matchers::Contains("halving-doubling"));
  transfer_program program;
  const auto shape = even_shape(operation::broadcast, 4, 10, 0);
  const auto refused = write_program(shape, 0, {.how = algorithm::bruck}, program);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().context == "bruck knows no broadcast (it knows all_gather, all_to_all)");
  const auto uneven =
      exchange_shape(std::vector<std::uint64_t>{1, 2}, std::vector<std::uint64_t>{1, 2});
  CHECK_FALSE(write_program(uneven, 0, {.how = algorithm::bruck}, program));
}
