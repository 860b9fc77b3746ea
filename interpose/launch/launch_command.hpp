// launch_command: command lines that start the ranks themselves: torchrun, torch.distributed.run
// and .launch, accelerate launch, mpirun; and how many they say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

struct launch_command {
  std::string name;         ///< empty: a program to be started once a rank
  std::uint32_t world = 0;  ///< 0: the command line does not say
};

/// usage: a launcher told to use several machines.
result<launch_command> recognize_launcher(const std::vector<std::string>& command);

}  // namespace troupe
