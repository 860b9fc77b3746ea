// simulated: a schedule, or its text, through the simulation.
#pragma once

#include <catch2/catch.hpp>

#include "net/loggops_model.hpp"
#include "net/simulation.hpp"
#include "tests/unit/graph/goal_sample.hpp"

namespace troupe {

inline simulation_result simulated(const goal::schedule& schedule,
                                   const loggops_parameters& parameters = {}) {
  loggops_model model(parameters);
  auto done = simulate(schedule, model);
  INFO((done ? "" : done.error().context));
  REQUIRE(done);
  return *std::move(done);
}

inline simulation_result simulated(const std::string& text,
                                   const loggops_parameters& parameters = {}) {
  return simulated(goal::sample::schedule_of(text), parameters);
}

using hosts = std::vector<std::uint64_t>;

}  // namespace troupe
