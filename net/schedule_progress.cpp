#include "net/schedule_progress.hpp"

namespace troupe {

schedule_progress::schedule_progress(const goal::schedule& of) : of_(of), states_(of.size()) {
  for (std::uint32_t i = 0; i < of.size(); ++i)
    for (const auto later : of.dependents(i)) ++states_[later.operation()].count;
}

void schedule_progress::begin() {
  for (std::uint32_t i = 0; i < of_.size(); ++i)
    if (states_[i].count == 0) release(i);
}

}  // namespace troupe
