// launcher: starts a run's processes and keeps them from outliving it.
//
// It forks a warden (warden.hpp), a process of its own session that holds all the program's
// processes and kills them when told to, or when this process is gone, be it by kill -9. A direct
// `python script.py` is forked N times from a Python that has already imported what ranks share
// (troupe_zygote.py); anything else is executed N times, or once if it starts the ranks itself. To
// be used before this process starts a thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interpose/descriptor.hpp"
#include "messages/error.hpp"

namespace troupe {

struct launch_plan {
  std::vector<std::string> command;
  std::uint32_t world{};
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside what ranks get anyway
  std::string library_folder;              ///< libtroupe_client.so, libtroupe_preload.so, python/
  std::vector<std::string> preloads = {};  ///< libraries that every process loads before its own
  std::uint32_t per_host{};                ///< ranks that are told to be on one host; 0: all
  bool once = false;  ///< the program is executed once, and starts the ranks itself
};

/// Read ends, the caller's to close.
struct output_pipe {
  int standard_output = -1, standard_error = -1;
};

class launcher {
 public:
  /// bad_input when the program is not there; no_resources when so many processes cannot be had.
  static result<launcher> start(const launch_plan& plan);
  launcher(launcher&&) noexcept;
  launcher& operator=(launcher&&) = delete;
  ~launcher();  ///< kills what is left and waits for the warden

  /// A stream of from_launcher frames to read; to_launcher frames are written to it.
  int control() const { return control_.get(); }
  pid_t warden() const { return warden_; }

  std::vector<output_pipe> outputs;  ///< by rank; then, of a program executed once, its own

 private:
  launcher() = default;
  descriptor control_;
  pid_t warden_ = -1;
};

}  // namespace troupe
