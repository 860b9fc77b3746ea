#include "interpose/launch/launcher.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interpose/launch/program.hpp"
#include "interpose/launch/rank_environment.hpp"
#include "interpose/launch/warden.hpp"

namespace troupe {
namespace {

error no_resources(const char* what) {
  return {errc::no_resources, std::string(what) + ": " + std::strerror(errno)};
}

/// Room for the pipes' both ends and the ranks' connections. The ranks get the former limit back.
result<rlimit> raise_descriptor_limit(std::uint32_t world) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return no_resources("no descriptor limit");
  const rlim_t needed = 256 + 5 * static_cast<rlim_t>(world);
  if (before.rlim_cur >= needed) return before;
  rlimit raised = before;
  raised.rlim_cur = std::min(needed, before.rlim_max);
  if (raised.rlim_cur < needed || ::setrlimit(RLIMIT_NOFILE, &raised) != 0)
    return error{errc::no_resources, std::to_string(world) + " ranks need " + std::to_string(needed)
                                         + " open files, the hard limit (ulimit -Hn) is "
                                         + std::to_string(before.rlim_max)};
  return before;
}

}  // namespace

result<launcher> launcher::start(const launch_plan& plan) {
  if (plan.command.empty() || plan.world == 0)
    return error{errc::usage, "no program, or no ranks to run it"};
  TROUPE_TRY(program, find_program(plan.command));
  TROUPE_TRY(limit, raise_descriptor_limit(plan.world));

  launcher started;
  warden_plan charge;
  charge.program = std::move(program);
  charge.world = plan.world;
  charge.per_host = plan.per_host == 0 ? plan.world : plan.per_host;
  charge.once = plan.once;
  charge.environment = run_environment(plan.environment, plan.world, charge.per_host,
                                       plan.library_folder, plan.preloads);
  if (plan.once) leave_ranks_to_program(charge.environment, plan.world);
  charge.library_folder = plan.library_folder;
  charge.rank_descriptors = limit;
  std::vector<output_ends> read_ends;
  for (std::uint32_t rank = 0; rank < plan.world + (plan.once ? 1 : 0); ++rank) {
    int output[2], errors[2];
    if (::pipe2(output, O_CLOEXEC) != 0) return no_resources("no pipe for a rank's output");
    read_ends.push_back({descriptor(output[0]), {}});
    charge.outputs.push_back({descriptor(output[1]), {}});
    if (::pipe2(errors, O_CLOEXEC) != 0) return no_resources("no pipe for a rank's output");
    read_ends.back().standard_error = descriptor(errors[0]);
    charge.outputs.back().standard_error = descriptor(errors[1]);
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return no_resources("no control stream");
  started.control_ = descriptor(ends[0]);
  charge.control = descriptor(ends[1]);
  started.warden_ = ::fork();
  if (started.warden_ < 0) return no_resources("no process for the launcher");
  if (started.warden_ == 0) run_warden(std::move(charge));
  for (auto& ends : read_ends)
    started.outputs.push_back({ends.standard_output.release(), ends.standard_error.release()});
  return started;
}

launcher::launcher(launcher&& other) noexcept
    : outputs(std::move(other.outputs)),
      control_(std::move(other.control_)),
      warden_(std::exchange(other.warden_, -1)) {}

launcher::~launcher() {
  control_.reset();  // tells the warden to end everything
  int status;
  if (warden_ > 0)
    while (::waitpid(warden_, &status, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace troupe
