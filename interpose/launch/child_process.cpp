#include "interpose/launch/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace troupe {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& lines) {
  std::vector<char*> pointers;
  for (const auto& line : lines) pointers.push_back(const_cast<char*>(line.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Python ignores SIGPIPE for itself; whoever started us may have ignored more.
void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(const child_plan& plan, char** arguments, char** environment,
                                 pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before we asked to be told
  reset_signals();
  const int standard[] = {plan.standard_input, plan.standard_output, plan.standard_error};
  for (int number = 0; number < 3; ++number)
    if (standard[number] >= 0) ::dup2(standard[number], number);
  for (int number : plan.inherited) ::fcntl(number, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &plan.descriptors);
  ::execve(plan.path->c_str(), arguments, environment);
  const exec_failure failure{plan.number, errno};
  [[maybe_unused]] const auto written = ::write(plan.failures, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace

result<pid_t> start_child(const child_plan& plan) {
  auto arguments = pointers_to(*plan.arguments);
  auto environment = pointers_to(plan.environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become_program(plan, arguments.data(), environment.data(), parent);
  if (child < 0)
    return error{errc::no_resources, std::string("no process for a rank: ") + std::strerror(errno)};
  ::setpgid(child, child);  // also here, so that a signal to the group finds it at once
  return child;
}

}  // namespace troupe
