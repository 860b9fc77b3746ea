// warden: the process that holds the ranks. It starts them, reports their ends, and leaves nobody
// behind.
//
// In a session of its own, so that a terminal's Ctrl-C reaches the runner alone. A child subreaper:
// what ranks leave behind becomes its child. When the runner dies (its end of the control stream
// closes) or says so, the warden kills every descendant and goes. Rules of this file:
// single-threaded, no locks, no exceptions; it lives between fork and exec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpose/launch/program.hpp"

namespace troupe {

struct warden_orders {
  std::uint32_t world = 1;
  int control = -1;
  std::vector<std::string> command;      ///< [0] as the user wrote it
  std::string program;                   ///< the file to execute
  std::optional<python_program> python;  ///< the ranks are forked from one parent
  std::vector<std::string> environment;  ///< "NAME=value", the whole
  std::string library_folder;
  std::vector<std::pair<int, int>> outputs;  ///< [rank]: write ends of stdout, stderr
};

[[noreturn]] void be_warden(const warden_orders& orders);

}  // namespace troupe
