// random_schedules: the model against the plain reference, on schedules drawn from seeds.
#include <random>

#include "tests/unit/net/reference_simulation.hpp"
#include "tests/unit/net/simulated.hpp"

using namespace troupe;
using goal::operation_kind;

namespace {

struct shape {
  bool has_wildcards, is_complete;
  int tags;
};

/// Dependencies lead from earlier to later operations; where `is_complete`, every message has a
/// recv.
goal::schedule drawn_schedule(std::mt19937_64& chance, const shape& of) {
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(chance() % end); };
  const auto ranks = 1 + below(5);
  const auto cpus = 1 + below(3), nics = 1 + below(2);
  const std::uint64_t sizes[] = {0, 1, 8, 100, 1000, 70'000};
  std::vector<std::vector<goal::operation_description>> all(ranks);
  const auto place = [&](goal::operation_description what) {
    what.cpu = static_cast<std::uint16_t>(below(cpus));
    if (what.kind != operation_kind::calc) what.nic = static_cast<std::uint16_t>(below(nics));
    return what;
  };
  for (auto messages = below(40); messages > 0; --messages) {
    const auto from = below(ranks), to = below(ranks), tag = below(static_cast<unsigned>(of.tags));
    const auto size = sizes[below(std::size(sizes))];
    all[from].push_back(
        place({.kind = operation_kind::send, .size = size, .peer = to, .tag = tag}));
    if (!of.is_complete && below(12) == 0) continue;
    goal::operation_description recv{
        .kind = operation_kind::recv, .size = size, .peer = from, .tag = tag};
    if (of.has_wildcards && below(3) == 0) recv.peer = goal::any_source;
    if (of.has_wildcards && below(3) == 0) recv.tag = goal::any_tag;
    all[to].push_back(place(recv));
  }
  for (auto calcs = below(30); calcs > 0; --calcs)
    all[below(ranks)].push_back(place({.kind = operation_kind::calc, .size = below(3000)}));
  goal::schedule_builder builder;
  for (auto& operations : all) {
    builder.begin_rank();
    std::shuffle(operations.begin(), operations.end(), chance);
    for (const auto& each : operations) builder.add(each);
    const auto count = builder.rank_size();
    for (auto edges = count > 1 ? below(2 * count) : 0; edges > 0; --edges) {
      const auto later = 1 + below(count - 1);
      builder.depend(later, below(later), below(4) == 0);
    }
    REQUIRE(builder.end_rank());
  }
  return builder.finish();
}

loggops_parameters drawn_parameters(std::mt19937_64& chance) {
  const auto one_of = [&](std::initializer_list<double> values) {
    return values.begin()[chance() % values.size()];
  };
  loggops_parameters made;
  made.latency_ns = static_cast<std::uint64_t>(one_of({0, 1, 2500, 3700}));
  made.overhead_ns = static_cast<std::uint64_t>(one_of({0, 3, 200, 1500}));
  made.gap_ns = static_cast<std::uint64_t>(one_of({0, 5, 1000, 5000}));
  made.gap_per_byte_ns = one_of({0, 0.04, 0.37, 6});
  made.overhead_per_byte_ns = one_of({0, 0, 1, 0.5});
  made.eager_bytes_max = static_cast<std::uint64_t>(one_of({0, 50, 65535}));
  made.receiver = static_cast<receiver_model>(chance() % 3);
  made.matching = static_cast<matching_rule>(chance() % 2);
  return made;
}

void compare(const goal::schedule& schedule, const loggops_parameters& parameters) {
  reference::simulation plain(schedule, parameters);
  plain.run();
  const auto done = simulated(schedule, parameters);
  REQUIRE(done.hosts_ns == plain.hosts());
  REQUIRE(done.matched == plain.matched());
  REQUIRE(done.ended == plain.ended());
  const auto again = simulated(schedule, parameters);
  REQUIRE(again.hosts_ns == done.hosts_ns);
}

}  // namespace

TEST_CASE("random schedules end when the plain reference says") {
  for (const auto& of : {shape{false, true, 3}, shape{false, true, 1}, shape{true, true, 3},
                         shape{true, false, 2}, shape{false, false, 40}})
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      std::mt19937_64 chance(seed);
      const auto schedule = drawn_schedule(chance, of);
      const auto parameters = drawn_parameters(chance);
      INFO("seed " << seed << ", wildcards " << of.has_wildcards << ", tags " << of.tags);
      compare(schedule, parameters);
    }
}

TEST_CASE("what does not end is explained, and only that") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 chance(seed);
    const auto schedule = drawn_schedule(chance, {seed % 2 == 0, false, 3});
    const auto done = simulated(schedule, drawn_parameters(chance));
    std::uint64_t sends = 0;
    for (const auto& each : schedule.operations()) sends += each.kind == operation_kind::send;
    INFO("seed " << seed);
    REQUIRE(done.findings.empty() == (done.ended == done.operations && done.matched == sends));
  }
}
