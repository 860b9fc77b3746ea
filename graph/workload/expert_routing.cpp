#include "graph/workload/expert_routing.hpp"

#include <algorithm>

namespace troupe::workload {
namespace {

// SplitMix64's mixing step (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

std::uint64_t routed_tokens(std::uint64_t given, std::uint64_t ranks, std::uint64_t expert_rank,
                            double imbalance, std::uint64_t seed, const routing_event& event) {
  if (ranks == 1 || imbalance == 1) return given;
  auto draw = seed;
  for (auto each : {event.replica, event.layer, event.micro_batch, event.step})
    draw = mixed(draw ^ each);
  const auto fullest = draw % ranks;
  const auto most = given * ranks - (ranks - 1);
  const auto hot =
      std::min(most, static_cast<std::uint64_t>(static_cast<double>(given) * imbalance));
  if (expert_rank == fullest) return hot;
  const auto rest = given * ranks - hot, others = ranks - 1;
  const auto place = expert_rank < fullest ? expert_rank : expert_rank - 1;
  return rest / others + (place < rest % others ? 1 : 0);
}

}  // namespace troupe::workload
