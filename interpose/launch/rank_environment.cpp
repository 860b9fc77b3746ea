#include "interpose/launch/rank_environment.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "interpose/descriptor.hpp"

namespace troupe {
namespace {

environment own_environment() {
  environment variables;
  for (char** line = environ; line && *line; ++line) {
    const std::string_view text = *line;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

/// A port that was free just now, for programs that listen there.
std::string free_port() {
  const descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (!probe || ::bind(probe.get(), where, size) != 0
      || ::getsockname(probe.get(), where, &size) != 0)
    return "29500";
  return std::to_string(ntohs(address.sin_port));
}

/// An empty part of a search path would mean the current folder.
void put_first(environment& variables, const std::string& name, const std::string& path) {
  auto& value = variables[name];
  value = value.empty() ? path : path + ":" + value;
}

/// LD_PRELOAD cannot name a file whose path has a blank; a name without a folder is looked for in
/// LD_LIBRARY_PATH, where a blank is nothing special.
void preload(environment& variables, const std::string& path) {
  const auto slash = path.find_last_of('/');
  const bool has_blank = path.find_first_of(" \t\n") != std::string::npos;
  put_first(variables, "LD_PRELOAD", has_blank ? path.substr(slash + 1) : path);
  if (has_blank) put_first(variables, "LD_LIBRARY_PATH", path.substr(0, slash));
}

}  // namespace

environment run_environment(const std::vector<std::pair<std::string, std::string>>& additions,
                            std::uint32_t world, std::uint32_t per_host,
                            const std::string& library_folder,
                            const std::vector<std::string>& preloads) {
  auto variables = own_environment();
  for (const auto& [name, value] : additions) variables[name] = value;
  variables["WORLD_SIZE"] = std::to_string(world);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(per_host);
  variables["GROUP_WORLD_SIZE"] = std::to_string(world / per_host);
  for (const auto* name : {"RANK", "LOCAL_RANK", "GROUP_RANK", "NODE_RANK", "TROUPE_RANK_PID",
                           "TROUPE_ZYGOTE", "TROUPE_NOTICES", "TROUPE_OUTPUTS", "TROUPE_WORLD"})
    variables.erase(name);  // a run inside a rank is a run of its own
  variables.emplace("MASTER_ADDR", "127.0.0.1");
  variables.emplace("MASTER_PORT", free_port());
  for (const auto* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    variables.emplace(name, "1");
  variables.emplace("PYTHONUNBUFFERED",
                    "1");  // output reaches the user line by line through a pipe
  put_first(variables, "PYTHONPATH", library_folder + "/python");
  for (auto at = preloads.rbegin(); at != preloads.rend(); ++at) preload(variables, *at);
  preload(variables, library_folder + "/libtroupe_preload.so");
  return variables;
}

void leave_ranks_to_program(environment& of_run, std::uint32_t world) {
  for (const auto* name :
       {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    of_run.erase(name);
  of_run["TROUPE_WORLD"] = std::to_string(world);
}

std::vector<std::string> rank_environment(environment of_run, std::uint32_t rank,
                                          std::uint32_t per_host) {
  of_run["RANK"] = std::to_string(rank);
  of_run["LOCAL_RANK"] = std::to_string(rank % per_host);
  of_run["GROUP_RANK"] = of_run["NODE_RANK"] = std::to_string(rank / per_host);
  return environment_lines(of_run);
}

std::vector<std::string> environment_lines(const environment& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace troupe
