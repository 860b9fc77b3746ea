#include "net/simulation.hpp"

#include <algorithm>

namespace troupe {

result<simulation_result> simulate(const goal::schedule& schedule, network_model& model,
                                   const simulation_options& options) {
  constexpr std::uint64_t events_between = 1u << 18;  // calls of on_progress
  constexpr std::size_t look_ahead = 6;
  schedule_progress progress(schedule);
  if (auto begun = model.begin(progress); !begun) return begun.error();
  progress.begin();
  auto& events = progress.events();
  for (std::uint64_t count = 1; !events.empty(); ++count) {
    const auto event = events.pop();
    if (const auto* const soon = events.ahead(look_ahead)) model.prepare(*soon);
    model.handle(event);
    if (count % events_between == 0 && options.on_progress
        && !options.on_progress(event.time_ns, progress.ended_count()))
      return error{errc::interrupted, "stopped at " + std::to_string(event.time_ns) + " ns"};
  }
  simulation_result made;
  made.operations = schedule.size();
  made.ended = progress.ended_count();
  made.matched = model.matched();
  made.hosts_ns.reserve(schedule.ranks());
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    made.hosts_ns.push_back(model.finish_ns(rank));
    made.finish_ns = std::max(made.finish_ns, made.hosts_ns.back());
  }
  made.findings = explain_stall(progress, model);
  made.warnings = model.warnings();
  return made;
}

}  // namespace troupe
