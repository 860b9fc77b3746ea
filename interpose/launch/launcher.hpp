// launcher: starts the ranks' processes and answers for their end, whatever becomes of the runner.
//
// It forks the warden, a process that holds all the ranks (warden.hpp). Call start() before the
// first thread. Not here: what a rank does once it runs (client/, torch/); what the ends of ranks
// mean (the runner's).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

struct launch_plan {
  std::vector<std::string> command;  ///< PROGRAM ARGS…
  std::uint32_t world = 1;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the runner's own
  std::string library_folder;  ///< holds libtroupe_client.so, libtroupe_preload.so, python/
};

class launcher {
 public:
  /// Read ends of a rank's output pipes; whoever reads them closes them.
  struct output_pipe {
    int standard_output = -1, standard_error = -1;
  };

  /// bad_input when the program is not there or cannot be executed; no_resources when the system
  /// refuses.
  static result<launcher> start(const launch_plan& plan);
  launcher(launcher&& from) noexcept;
  launcher& operator=(launcher&&) = delete;
  /// Has the warden kill what is left, and waits for it.
  ~launcher();

  /// A stream socket: read frames of from_launcher, write frames of to_launcher.
  int control() const { return control_; }

  std::vector<output_pipe> outputs;  ///< [rank]

 private:
  launcher() = default;
  int control_ = -1;
  int warden_ = -1;  // its pid
};

}  // namespace troupe
