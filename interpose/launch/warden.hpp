// warden: the process that holds a run's processes: starts them, reports their starts and ends,
// passes signals on, kills.
//
// Single-threaded, in a session of its own (a terminal's Ctrl-C reaches only the runner), a child
// subreaper: whatever a rank leaves behind becomes its child. It ends when the runner says so or is
// gone (its end of the control stream closed), and then nothing of the run is left. Killed itself,
// its children die with it.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "interpose/descriptor.hpp"
#include "interpose/launch/program.hpp"
#include "interpose/launch/rank_environment.hpp"

namespace troupe {

struct output_ends {
  descriptor standard_output, standard_error;  ///< of one rank
};

struct warden_plan {
  troupe::program program;
  std::uint32_t world{}, per_host{};
  bool once = false;                ///< the program starts the ranks itself
  troupe::environment environment;  ///< of the run
  std::string library_folder;
  rlimit rank_descriptors{};
  std::vector<output_ends> outputs;  ///< write ends, by rank; of a program run once, its own last
  descriptor control;
};

/// In the forked process; never returns.
[[noreturn]] void run_warden(warden_plan plan);

}  // namespace troupe
