#include "graph/workload/pipeline_schedule.hpp"

#include <algorithm>
#include <string>

namespace troupe::workload {
namespace {

// The k-th forward (or backward) step of a stage: micro-batches in groups of as many as there are
// stages, each group through all chunks. With one chunk: the k-th micro-batch.
pipeline_step nth_step(const pipeline_shape& shape, bool is_forward, std::uint64_t k) {
  const auto group = shape.stages * shape.chunks;
  const auto chunk = shape.chunks == 1 ? 0 : k % group / shape.stages;
  const auto micro_batch = shape.chunks == 1 ? k : k / group * shape.stages + k % shape.stages;
  return {is_forward, micro_batch, is_forward ? chunk : shape.chunks - 1 - chunk};
}

}  // namespace

const char* to_string(schedule_kind kind) {
  return kind == schedule_kind::interleaved ? "interleaved" : "1f1b";
}

result<void> check(const pipeline_shape& shape) {
  const auto interleaved = shape.kind == schedule_kind::interleaved;
  if (shape.micro_batches == 0) return error{errc::usage, "micro-batches 0: expected at least 1"};
  if (!interleaved && shape.chunks != 1)
    return error{errc::usage, "virtual-stages " + std::to_string(shape.chunks)
                                  + ": only the interleaved schedule has more than 1"};
  if (!interleaved) return {};
  if (shape.stages < 2)
    return error{errc::usage, "the interleaved schedule needs pp of at least 2"};
  if (shape.chunks < 2)
    return error{errc::usage, "the interleaved schedule needs virtual-stages of at least 2"};
  if (shape.micro_batches % shape.stages != 0)
    return error{errc::usage, "the interleaved schedule needs micro-batches, "
                                  + std::to_string(shape.micro_batches)
                                  + ", to be a multiple of pp, " + std::to_string(shape.stages)};
  return {};
}

std::uint64_t warm_up_steps(const pipeline_shape& shape, std::uint64_t stage) {
  const auto behind = shape.stages - 1 - stage;
  const auto wanted = shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.stages;
  return std::min(wanted, shape.micro_batches * shape.chunks);
}

std::vector<pipeline_step> pipeline_steps(const pipeline_shape& shape, std::uint64_t stage) {
  const auto all = shape.micro_batches * shape.chunks, warm_up = warm_up_steps(shape, stage);
  std::vector<pipeline_step> steps;
  steps.reserve(2 * all);
  for (std::uint64_t k = 0; k < warm_up; ++k) steps.push_back(nth_step(shape, true, k));
  for (std::uint64_t k = warm_up; k < all; ++k) {
    steps.push_back(nth_step(shape, true, k));
    steps.push_back(nth_step(shape, false, k - warm_up));
  }
  for (std::uint64_t k = all - warm_up; k < all; ++k) steps.push_back(nth_step(shape, false, k));
  return steps;
}

}  // namespace troupe::workload
