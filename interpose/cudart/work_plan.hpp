// work_plan: work to be queued as a whole, again and again: what CUDA calls a graph.
//
// Steps and what each comes after. An executable plan is a copy in an order in which each step
// follows what it comes after. Not thread-safe: the runtime has one lock for all its plans.
// Not here: how a stream's calls become steps (stream_capture.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "interpose/cudart/work_graph.hpp"
#include "messages/error.hpp"

namespace troupe {

struct plan_step {
  enum class type : std::uint8_t { kernel, copy, fill, host, child, empty };
  type what = type::empty;
  work content = {};
  std::shared_ptr<work_order> order = {};
  std::set<plan_step*> after = {};
};

/// Steps that can be queued: `after` are places of earlier ones.
struct executable_plan {
  struct step {
    work content;
    std::shared_ptr<work_order> order;
    std::vector<std::size_t> after;
    bool is_last = true;  ///< nothing comes after it
  };
  std::vector<step> steps;
  unsigned flags = 0;

  /// Queues it all after these; returns the node that is done when all of it is.
  node_ptr queue(work_graph& graph, const std::vector<node_ptr>& after) const;
};

class work_plan {
 public:
  plan_step& add(plan_step step);
  /// Also from what comes after it.
  void remove(plan_step& step);
  bool has(const plan_step* step) const;
  /// In the order they were added.
  const std::list<plan_step>& steps() const { return steps_; }
  std::list<plan_step>& steps() { return steps_; }
  /// Copies another plan's steps, in order: the copies.
  std::vector<plan_step*> add_all(const work_plan& other);

  /// bad_input: steps that come after each other in a circle.
  result<executable_plan> executable() const;

 private:
  std::list<plan_step> steps_;  // addresses are handles
};

}  // namespace troupe
