// algorithms: every algorithm does every collective it knows, for any number of members.
#include <catch2/catch.hpp>
#include <random>

#include "graph/collective_traffic.hpp"
#include "tests/unit/graph/schedule/executed.hpp"

using namespace troupe;

namespace {

constexpr operation collectives[] = {
    operation::all_reduce,     operation::broadcast,  operation::reduce,
    operation::all_gather,     operation::gather,     operation::scatter,
    operation::reduce_scatter, operation::all_to_all, operation::barrier};

std::vector<collective_shape> even_shapes(operation op, std::uint32_t members,
                                          std::uint64_t elements, std::uint32_t root = 0) {
  std::vector<collective_shape> shapes;
  for (std::uint32_t self = 0; self < members; ++self)
    shapes.push_back(even_shape(op, members, elements, self, 4, root));
  return shapes;
}

/// Parts of drawn sizes, a third of them empty.
std::vector<collective_shape> uneven_shapes(operation op, std::uint32_t members,
                                            std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  const auto draw = [&] { return chance() % 3 == 0 ? 0 : chance() % 9; };
  if (op != operation::all_to_all) {
    std::vector<std::uint64_t> counts(members);
    for (auto& count : counts) count = draw();
    return std::vector<collective_shape>(members, uneven_shape(op, counts, 4));
  }
  std::vector<std::vector<std::uint64_t>> given(members, std::vector<std::uint64_t>(members));
  for (auto& row : given)
    for (auto& count : row) count = draw();
  std::vector<collective_shape> shapes;
  for (std::uint32_t self = 0; self < members; ++self) {
    std::vector<std::uint64_t> got;
    for (const auto& row : given) got.push_back(row[self]);
    shapes.push_back(exchange_shape(given[self], got, 4));
  }
  return shapes;
}

/// Does the algorithm want equal parts?
bool wants_equal_parts(algorithm how, operation op) {
  return (how == algorithm::bruck && op == operation::all_to_all)
         || (how == algorithm::nccl
             && (op == operation::all_gather || op == operation::reduce_scatter));
}

bool has_root(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

void check(const std::vector<collective_shape>& shapes, algorithm how, std::uint64_t seed,
           std::uint64_t chunk_bytes = 12) {
  const auto run = checked(shapes, {.how = how, .chunk_bytes = chunk_bytes}, seed);
  INFO(to_string(how) << " " << to_string(shapes[0].op) << " of " << shapes.size() << ", "
                      << shapes[0].parts.total() << " elements, root " << shapes[0].root
                      << ", seed " << seed << ": " << run.wrong.value_or(""));
  REQUIRE_FALSE(run.wrong);
}

}  // namespace

TEST_CASE("every algorithm does what its collectives are, for 1 to 17 members and every root") {
  for (const auto how : algorithms())
    for (const auto op : collectives)
      if (knows(how, op))
        for (std::uint32_t n = 1; n <= 17; ++n)
          for (std::uint32_t root = 0; root < (has_root(op) ? n : 1); ++root)
            for (const std::uint64_t elements : {0u, 1u, n - 1, n, 3 * n, 3 * n + 2, 101u}) {
              if (wants_equal_parts(how, op) && elements % n != 0) continue;
              check(even_shapes(op, n, elements, root), how, elements * 100 + root);
            }
}

TEST_CASE("every algorithm does what its collectives are, for many members") {
  for (const auto how : algorithms())
    for (const auto op : collectives)
      if (knows(how, op))
        for (const std::uint32_t n : {31, 32, 64, 97, 100})
          for (const std::uint32_t root : {0u, n / 2, n - 1})
            if (root == 0 || has_root(op)) check(even_shapes(op, n, 2 * n, root), how, n);
}

TEST_CASE("parts of given sizes go where they belong, empty ones too") {
  for (const auto how : algorithms())
    for (const auto op : {operation::all_gather, operation::gather, operation::scatter,
                          operation::reduce_scatter, operation::all_to_all})
      if (knows(how, op) && !wants_equal_parts(how, op))
        for (std::uint32_t n = 1; n <= 17; ++n)
          for (std::uint64_t seed = 0; seed < 3; ++seed)
            check(uneven_shapes(op, n, seed), how, seed);
}

TEST_CASE("whatever is chosen for a collective and its size does it") {
  for (const auto op : collectives)
    for (const std::uint32_t n : {1, 2, 3, 7, 8, 12, 16})
      for (const std::uint64_t elements : {0, 1, 8, 48, 600, 6000, 20000}) {
        if (elements > 6000 && n > 8) continue;
        const auto shapes = even_shapes(op, n, op == operation::barrier ? 0 : elements * n);
        INFO(to_string(op) << " of " << n << ", " << elements << " elements");
        const auto chosen = choose_algorithm(shapes[0]);
        REQUIRE(knows(chosen, op));
        for (const auto& each : shapes) REQUIRE(choose_algorithm(each) == chosen);
        check(shapes, algorithm::automatic, n);
      }
}

TEST_CASE("a ring gives its successor what traffic matrices say") {
  for (const auto op : {operation::all_reduce, operation::reduce_scatter})
    for (const std::uint32_t n : {2, 3, 5, 8})
      for (const std::uint64_t elements : {1, 7, 64, 1001}) {
        std::vector<communicator_entry> group(1);
        for (std::uint32_t rank = 0; rank < n; ++rank) group[0].members.push_back(rank_id{rank});
        traffic_matrix expected(n, group), made(n, group);
        for (std::uint32_t self = 0; self < n; ++self) {
          node what;
          what.kind = node_kind::collective;
          what.op = op;
          what.size = elements;
          add_traffic(expected, what, group[0], self, 1);
          transfer_program program;
          const auto shape = even_shape(op, n, elements, self);
          REQUIRE(write_program(shape, self, {.how = algorithm::ring}, program));
          for (const auto& step : program.steps())
            if (step.kind == step_kind::send)
              made.add(rank_id{self}, rank_id{step.peer}, step.bytes);
        }
        using rows = std::vector<std::vector<std::uint64_t>>;
        const auto rows_of = [](const traffic_matrix& matrix) {
          rows all;
          matrix.for_each_row([&](rank_id, std::span<const std::uint64_t> row) {
            all.emplace_back(row.begin(), row.end());
          });
          return all;
        };
        INFO(to_string(op) << " of " << n << ", " << elements << " bytes");
        REQUIRE(rows_of(made) == rows_of(expected));
      }
}

TEST_CASE("what is beyond a limit is refused before it takes memory") {
  transfer_program program;
  const auto many = even_shape(operation::all_reduce, 4, std::uint64_t{1} << 53, 0);
  for (const schedule_options& options :
       {schedule_options{.how = algorithm::double_tree, .chunk_bytes = 16},
        schedule_options{.how = algorithm::nccl}}) {
    const auto refused = write_program(many, 0, options, program);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::no_resources);
    CHECK(program.steps().empty());
  }
  CHECK(write_program(even_shape(operation::broadcast, collective_members_max + 1, 8, 0), 0, {},
                      program)
            .error()
            .code
        == errc::no_resources);
}

TEST_CASE("a program with a fault does not pass the executor") {
  const auto shapes = even_shapes(operation::all_reduce, 4, 8);
  std::vector<transfer_program> programs(4);
  for (std::uint32_t self = 0; self < 4; ++self)
    REQUIRE(write_program(shapes[self], self, {.how = algorithm::ring}, programs[self]));
  REQUIRE_FALSE(checked(shapes, programs, 1).wrong);
  const auto spoilt = [&](auto spoil) {
    auto others = programs;
    others[2].clear(4);
    spoil(others[2]);
    return checked(shapes, others, 1).wrong.value_or("");
  };
  CHECK_THAT(spoilt([](transfer_program&) {}), Catch::Matchers::Contains("never ends"));
  CHECK_THAT(spoilt([](transfer_program& to) {
               to.send(3, {vector_name::data, 0, 3}, {});
             }),
             Catch::Matchers::Contains("gets 3 elements for 2"));
  std::vector<transfer_program> pair(2);  // adds what comes to what it still sends
  const element_range all{vector_name::data, 0, 4};
  for (std::uint32_t self = 0; self < 2; ++self) {
    pair[self].clear(4);
    pair[self].send(1 - self, all, {});
    pair[self].recv(1 - self, all, combining::reduce, {});
  }
  CHECK_THAT(checked(even_shapes(operation::all_reduce, 2, 4), pair, 1).wrong.value_or(""),
             Catch::Matchers::Contains("changes what it sends"));
}
