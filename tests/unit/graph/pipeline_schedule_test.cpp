#include "graph/workload/pipeline_schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "graph/workload/stage_layers.hpp"

namespace troupe::workload {
namespace {

pipeline_shape shape_of(std::uint64_t stages, std::uint64_t chunks, std::uint64_t micro_batches) {
  return {chunks == 1 ? schedule_kind::one_forward_one_backward : schedule_kind::interleaved,
          stages, chunks, micro_batches};
}

// Each step after the one before it of its stage and the one that gives its input; 0: it never
// ended.
double finish(const pipeline_shape& shape, double forward, double backward) {
  const auto last = shape.stages * shape.chunks - 1;
  std::vector<std::vector<pipeline_step>> steps;
  for (std::uint64_t stage = 0; stage < shape.stages; ++stage)
    steps.push_back(pipeline_steps(shape, stage));
  std::map<std::tuple<bool, std::uint64_t, std::uint64_t>, double> ends;  // virtual stage
  std::vector<double> clock(shape.stages);
  std::vector<std::size_t> at(shape.stages);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint64_t stage = 0; stage < shape.stages; ++stage) {
      if (at[stage] == steps[stage].size()) continue;
      const auto& step = steps[stage][at[stage]];
      const auto place = step.chunk * shape.stages + stage;
      double start = clock[stage];
      if (step.is_forward ? place > 0 : true) {
        const bool is_loss = !step.is_forward && place == last;
        const auto from = step.is_forward ? place - 1 : is_loss ? place : place + 1;
        const auto found = ends.find({step.is_forward || is_loss, step.micro_batch, from});
        if (found == ends.end()) continue;
        start = std::max(start, found->second);
      }
      clock[stage] = start + (step.is_forward ? forward : backward);
      ends[{step.is_forward, step.micro_batch, place}] = clock[stage];
      ++at[stage];
      moved = true;
    }
  }
  for (std::uint64_t stage = 0; stage < shape.stages; ++stage)
    if (at[stage] != steps[stage].size()) return 0;
  return *std::max_element(clock.begin(), clock.end());
}

TEST_CASE("every schedule does each micro-batch once, and idles (p - 1) / m / v of its work") {
  for (std::uint64_t stages : {1, 2, 3, 4, 8})
    for (std::uint64_t chunks : {1, 2, 3, 5})
      for (std::uint64_t rounds : {1, 2, 3, 7}) {
        const auto shape = shape_of(stages, chunks, rounds * stages);
        if (stages == 1 && chunks > 1) continue;
        REQUIRE(check(shape));
        std::map<std::pair<std::uint64_t, std::uint64_t>, int> done;
        for (const auto& step : pipeline_steps(shape, 0))
          done[{step.micro_batch, step.chunk}] += step.is_forward ? 1 : 100;
        CHECK(done.size() == shape.micro_batches * chunks);
        for (const auto& [what, times] : done) CHECK(times == 101);
        const auto work = 3.0 * static_cast<double>(shape.micro_batches * chunks);
        const auto bubble =
            static_cast<double>(stages - 1) / static_cast<double>(shape.micro_batches * chunks);
        INFO("p " << stages << " v " << chunks << " m " << shape.micro_batches);
        CHECK(finish(shape, 1, 2) == Approx(work * (1 + bubble)));
      }
}

TEST_CASE("1f1b takes any number of micro-batches and holds p - s of them at most") {
  for (std::uint64_t stages : {1, 2, 3, 5})
    for (std::uint64_t micro_batches = 1; micro_batches < 9; ++micro_batches) {
      const auto shape = shape_of(stages, 1, micro_batches);
      CHECK(finish(shape, 1, 2) == Approx(3.0 * static_cast<double>(micro_batches + stages - 1)));
      for (std::uint64_t stage = 0; stage < stages; ++stage) {
        std::uint64_t held = 0, most = 0;
        for (const auto& step : pipeline_steps(shape, stage))
          most = std::max(most, step.is_forward ? ++held : held--);
        CHECK(held == 0);
        CHECK(most == std::min(stages - stage, micro_batches));
      }
    }
}

TEST_CASE("the interleaved warm-up is the paper's") {
  const auto shape = shape_of(4, 2, 8);
  CHECK(warm_up_steps(shape, 0) == 10);
  CHECK(warm_up_steps(shape, 3) == 4);
  const auto steps = pipeline_steps(shape, 3);
  CHECK(steps[3] == pipeline_step{true, 3, 0});
  CHECK(steps[4] == pipeline_step{true, 0, 1});
  CHECK(steps[5] == pipeline_step{false, 0, 1});
}

TEST_CASE("layers that do not divide go to the first stages, or where the list says") {
  const auto even = *stage_layers::spread(10, 4, 1, {});
  CHECK((even.count_of(0) == 3 && even.count_of(1) == 3 && even.count_of(2) == 2));
  CHECK(even.of(3, 0).first == 8);
  const auto chunks = *stage_layers::spread(9, 2, 2, {});
  CHECK((chunks.of(0, 0).count == 3 && chunks.of(1, 0).first == 3 && chunks.of(0, 1).first == 5));
  CHECK(chunks.count_of(0) == 5);
  const auto listed = *stage_layers::spread(8, 4, 1, {1, 2, 2, 3});
  CHECK((listed.of(3, 0).first == 5 && listed.of(3, 0).count == 3));
  CHECK(stage_layers::spread(8, 4, 1, {0, 4, 4, 0}));
  CHECK_FALSE(stage_layers::spread(3, 4, 1, {}));
  CHECK_FALSE(stage_layers::spread(8, 4, 1, {1, 2, 2, 2}));
  CHECK_FALSE(stage_layers::spread(8, 2, 2, {4, 4}));
}

}  // namespace
}  // namespace troupe::workload
