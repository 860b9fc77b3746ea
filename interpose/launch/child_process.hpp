// child_process: fork and exec as the warden does it: a process group of its own, gone when the
// warden is.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

struct child_plan {
  const std::string* path{};
  const std::vector<std::string>* arguments{};
  std::vector<std::string> environment;
  int standard_input = -1, standard_output = -1, standard_error = -1;  ///< of ours; -1: stays
  std::vector<int> inherited;  ///< further descriptors that stay open, by their numbers
  rlimit descriptors{};
  /// Gets an exec_failure when the program cannot be executed; close-on-exec.
  int failures = -1;
  std::uint32_t number{};  ///< in that report
};

struct exec_failure {
  std::uint32_t number;
  int error;
};

result<pid_t> start_child(const child_plan& plan);

}  // namespace troupe
