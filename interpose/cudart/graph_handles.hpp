// graph_handles: plans behind CUDA's handles of graphs, their nodes and executable graphs.
//
// All functions with the runtime's lock held.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "interpose/cudart/work_plan.hpp"

namespace troupe::graph_handles {

/// A handle for the plan: the same for the same plan, until it is dropped.
cudaGraph_t keep(std::shared_ptr<work_plan> plan);
/// nullptr: no such handle.
std::shared_ptr<work_plan> plan(cudaGraph_t graph);
bool drop(cudaGraph_t graph);

cudaGraphExec_t keep(executable_plan made);
executable_plan* executable(cudaGraphExec_t made);
bool drop(cudaGraphExec_t made);

/// False: one of them is no step of the plan.
bool steps(const work_plan& plan, const cudaGraphNode_t* nodes, std::size_t count,
           std::vector<plan_step*>& found);
/// The plan that has the node; nullptr when there is none.
std::shared_ptr<work_plan> plan_of(cudaGraphNode_t node);

}  // namespace troupe::graph_handles
