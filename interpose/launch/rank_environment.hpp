// rank_environment: the variables of a run's processes, and those a rank has besides, as torchrun
// sets them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

using environment = std::map<std::string, std::string>;

/// Ours, with what every process of the run needs: hooks and preload library from the library
/// folder, the other preloads (paths) behind it, one thread for numerical libraries (unless set:
/// many ranks share few cores), WORLD_SIZE and where rank 0 would be.
environment run_environment(const std::vector<std::pair<std::string, std::string>>& additions,
                            std::uint32_t world, std::uint32_t per_host,
                            const std::string& library_folder,
                            const std::vector<std::string>& preloads);

/// For a program that starts its ranks itself: it numbers them and says where they meet.
void leave_ranks_to_program(environment& of_run, std::uint32_t world);

/// NAME=VALUE lines with RANK of this rank, and where it is: LOCAL_RANK on its host, which is the
/// GROUP_RANK-th (Lightning says NODE_RANK).
std::vector<std::string> rank_environment(environment of_run, std::uint32_t rank,
                                          std::uint32_t per_host);
std::vector<std::string> environment_lines(const environment& variables);

}  // namespace troupe
