#include "interpose/launch/launcher.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "interpose/launch/warden.hpp"
#include "messages/wire_codec.hpp"

extern char** environ;

namespace troupe {
namespace {

error refused(const char* what) {
  return {errc::no_resources, std::string{what} + ": " + std::strerror(errno)};
}

/// A rank needs two pipes in the runner; 512 of them are more than the usual limit of 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// A port that was free just now, for programs that look at MASTER_PORT.
std::string free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  std::string port = "29500";
  if (probe >= 0 && ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0
      && ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = std::to_string(ntohs(address.sin_port));
  if (probe >= 0) ::close(probe);
  return port;
}

class variables {
 public:
  variables() {
    for (char** at = environ; *at; ++at) all_.emplace_back(*at);
  }
  std::string get(const std::string& name) const {
    for (const auto& entry : all_)
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    return {};
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(all_, [&](const auto& entry) { return entry.starts_with(name + "="); });
    all_.push_back(name + "=" + value);
  }
  void set_default(const std::string& name, const std::string& value) {
    if (get(name).empty()) set(name, value);
  }
  void put_before(const std::string& name, const std::string& value) {
    const auto before = get(name);
    set(name, before.empty() ? value : value + ":" + before);
  }
  void remove(const std::string& name) {
    std::erase_if(all_, [&](const auto& entry) { return entry.starts_with(name + "="); });
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

std::vector<std::string> environment_of(const launch_plan& plan) {
  variables all;
  const auto world = std::to_string(plan.world);
  all.set("WORLD_SIZE", world);
  all.set("LOCAL_WORLD_SIZE", world);
  all.set_default("MASTER_ADDR", "127.0.0.1");
  all.set_default("MASTER_PORT", free_port());
  for (const auto* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    all.set_default(
        name, "1");  // a rank is one core's worth; a forked rank cannot use its parent's threads
  for (const auto* name : {"RANK", "LOCAL_RANK", "TROUPE_RANK_PID", "TROUPE_ZYGOTE"})
    all.remove(name);
  all.put_before("PYTHONPATH", plan.library_folder + "/python");
  all.put_before("LD_PRELOAD", plan.library_folder + "/libtroupe_preload.so");
  for (const auto& [name, value] : plan.environment) all.set(name, value);
  return all.all();
}

}  // namespace

result<launcher> launcher::start(const launch_plan& plan) {
  raise_descriptor_limit();
  warden_orders orders;
  TROUPE_TRY(program, find_program(plan.command.front()));
  orders.world = plan.world;
  orders.command = plan.command;
  orders.program = program;
  orders.python = as_python(plan.command);
  orders.environment = environment_of(plan);
  orders.library_folder = plan.library_folder;

  launcher started;
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
    return refused("no control stream");
  started.control_ = control[0];
  orders.control = control[1];
  for (std::uint32_t rank = 0; rank < plan.world; ++rank) {
    int out[2], err[2];
    if (::pipe2(out, O_CLOEXEC) < 0) return refused("no pipe for a rank's output");
    started.outputs.push_back({out[0], -1});
    if (::pipe2(err, O_CLOEXEC) < 0) return refused("no pipe for a rank's output");
    started.outputs.back().standard_error = err[0];
    orders.outputs.emplace_back(out[1], err[1]);
  }
  started.warden_ = ::fork();
  if (started.warden_ < 0) return refused("cannot fork");
  if (started.warden_ == 0) {
    ::close(control[0]);
    for (const auto& pipe : started.outputs) {
      ::close(pipe.standard_output);
      ::close(pipe.standard_error);
    }
    be_warden(orders);
  }
  ::close(control[1]);
  for (auto [out, err] : orders.outputs) {
    ::close(out);
    ::close(err);
  }
  return started;
}

launcher::launcher(launcher&& from) noexcept
    : outputs(std::move(from.outputs)),
      control_(std::exchange(from.control_, -1)),
      warden_(std::exchange(from.warden_, -1)) {}

launcher::~launcher() {
  if (control_ >= 0) ::close(control_);  // the warden sees it and ends whatever is left
  if (warden_ > 0)
    while (::waitpid(warden_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace troupe
