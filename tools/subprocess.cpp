#include "tools/subprocess.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "interpose/descriptor.hpp"

extern char** environ;

namespace troupe {
namespace {

std::string content_of(int memory) {
  std::string text;
  const auto size = ::lseek(memory, 0, SEEK_END);
  if (size <= 0) return text;
  text.resize(static_cast<std::size_t>(size));
  const auto got = ::pread(memory, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

result<finished_process> run_to_end(const std::vector<std::string>& command) {
  const descriptor output{::memfd_create("output", MFD_CLOEXEC)};  // it writes, nobody need read
  const descriptor errors{::memfd_create("errors", MFD_CLOEXEC)};
  if (!output || !errors)
    return error{errc::no_resources,
                 "no memory for what " + command.front() + " says: " + std::strerror(errno)};
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, errors.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int code =
      ::posix_spawnp(&pid, arguments.front(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (code != 0)
    return error{errc::bad_input, "cannot execute " + command.front() + ": " + std::strerror(code)};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return finished_process{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                          content_of(output.get()), content_of(errors.get())};
}

}  // namespace troupe
