#include "interpose/cudart/graph_handles.hpp"

#include <map>

namespace troupe::graph_handles {
namespace {

auto& plans() {
  static auto* all = new std::map<work_plan*, std::shared_ptr<work_plan>>;
  return *all;
}
auto& executables() {
  static auto* all = new std::map<executable_plan*, std::unique_ptr<executable_plan>>;
  return *all;
}

}  // namespace

cudaGraph_t keep(std::shared_ptr<work_plan> plan) {
  auto* const at = plan.get();
  plans()[at] = std::move(plan);
  return reinterpret_cast<cudaGraph_t>(at);
}

std::shared_ptr<work_plan> plan(cudaGraph_t graph) {
  const auto found = plans().find(reinterpret_cast<work_plan*>(graph));
  return found == plans().end() ? nullptr : found->second;
}

bool drop(cudaGraph_t graph) { return plans().erase(reinterpret_cast<work_plan*>(graph)) > 0; }

cudaGraphExec_t keep(executable_plan made) {
  auto kept = std::make_unique<executable_plan>(std::move(made));
  auto* const at = kept.get();
  executables()[at] = std::move(kept);
  return reinterpret_cast<cudaGraphExec_t>(at);
}

executable_plan* executable(cudaGraphExec_t made) {
  const auto found = executables().find(reinterpret_cast<executable_plan*>(made));
  return found == executables().end() ? nullptr : found->second.get();
}

bool drop(cudaGraphExec_t made) {
  return executables().erase(reinterpret_cast<executable_plan*>(made)) > 0;
}

bool steps(const work_plan& plan, const cudaGraphNode_t* nodes, std::size_t count,
           std::vector<plan_step*>& found) {
  found.clear();
  for (std::size_t n = 0; n < count; ++n) {
    auto* step = reinterpret_cast<plan_step*>(nodes[n]);
    if (!plan.has(step)) return false;
    found.push_back(step);
  }
  return true;
}

std::shared_ptr<work_plan> plan_of(cudaGraphNode_t node) {
  for (const auto& [at, plan] : plans())
    if (plan->has(reinterpret_cast<const plan_step*>(node))) return plan;
  return nullptr;
}

}  // namespace troupe::graph_handles
