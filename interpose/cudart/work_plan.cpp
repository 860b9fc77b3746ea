#include "interpose/cudart/work_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace troupe {

node_ptr executable_plan::queue(work_graph& graph, const std::vector<node_ptr>& after) const {
  std::vector<node_ptr> nodes, lasts = after;
  nodes.reserve(steps.size());
  for (const auto& step : steps) {
    std::vector<node_ptr> before;
    if (step.after.empty()) before = after;
    for (auto place : step.after) before.push_back(nodes[place]);
    nodes.push_back(graph.add(step.content, before, step.order));
    if (step.is_last) lasts.push_back(nodes.back());
  }
  return graph.add({}, lasts);
}

plan_step& work_plan::add(plan_step step) { return steps_.emplace_back(std::move(step)); }

void work_plan::remove(plan_step& step) {
  for (auto& other : steps_) other.after.erase(&step);
  steps_.remove_if([&](const plan_step& one) { return &one == &step; });
}

bool work_plan::has(const plan_step* step) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const auto& one) { return &one == step; });
}

std::vector<plan_step*> work_plan::add_all(const work_plan& other) {
  std::map<const plan_step*, plan_step*> copy_of;
  std::vector<plan_step*> copies;
  for (const auto& step : other.steps_) {
    auto& copy = add(step);
    copy.after.clear();
    copies.push_back(copy_of[&step] = &copy);
  }
  for (const auto& step : other.steps_)
    for (auto* before : step.after) copy_of[&step]->after.insert(copy_of[before]);
  return copies;
}

result<executable_plan> work_plan::executable() const {
  std::map<const plan_step*, std::size_t> place;
  executable_plan made;
  for (bool found = true; found && place.size() < steps_.size();) {
    found = false;
    for (const auto& step : steps_) {
      const auto is_placed = [&](const plan_step* one) { return place.contains(one); };
      if (is_placed(&step) || !std::all_of(step.after.begin(), step.after.end(), is_placed))
        continue;
      found = true;
      executable_plan::step next{step.content, step.order, {}, true};
      for (const auto* before : step.after) {
        next.after.push_back(place[before]);
        made.steps[place[before]].is_last = false;
      }
      place[&step] = made.steps.size();
      made.steps.push_back(std::move(next));
    }
  }
  if (place.size() < steps_.size())
    return error{errc::bad_input, "steps of a graph come after each other in a circle"};
  return made;
}

}  // namespace troupe
