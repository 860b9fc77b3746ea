#include "graph/workload/stage_layers.hpp"

#include <string>

namespace troupe::workload {
namespace {

error unfit(const std::string& what) { return {errc::usage, "layers-per-stage: " + what}; }

}  // namespace

result<stage_layers> stage_layers::spread(std::uint64_t layers, std::uint64_t stages,
                                          std::uint64_t chunks,
                                          const std::vector<std::uint64_t>& list) {
  const auto parts = stages * chunks;
  if (list.empty() && layers < parts)
    return error{errc::usage,
                 std::to_string(layers) + " layers are fewer than pp × virtual-stages, "
                     + std::to_string(parts) + "; layers-per-stage may leave stages without any"};
  if (!list.empty() && list.size() != parts)
    return unfit(std::to_string(list.size())
                 + " numbers, expected one for each of pp × virtual-stages, "
                 + std::to_string(parts));
  stage_layers all;
  all.stages_ = stages;
  std::uint64_t first = 0;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto count = list.empty() ? layers / parts + (part < layers % parts ? 1 : 0) : list[part];
    if (count > layers)
      return unfit(std::to_string(count) + " of a model of " + std::to_string(layers));
    all.ranges_.push_back({first, count});
    first += count;
  }
  if (first != layers)
    return unfit("they add up to " + std::to_string(first) + " layers, the model has "
                 + std::to_string(layers));
  return all;
}

std::uint64_t stage_layers::count_of(std::uint64_t stage) const {
  std::uint64_t sum = 0;
  for (std::uint64_t chunk = 0; chunk < chunks(); ++chunk) sum += of(stage, chunk).count;
  return sum;
}

}  // namespace troupe::workload
