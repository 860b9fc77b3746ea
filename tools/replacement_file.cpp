#include "tools/replacement_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "messages/assert.hpp"

namespace troupe {
namespace {

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

// What the handler removes; written while no handler is set.
char path_to_remove[4096];
struct sigaction former[std::size(ending_signals)];

void remove_and_end(int) {
  ::unlink(path_to_remove);
  ::_exit(exit_status(errc::interrupted));
}

void guard(const std::string& path) {
  TROUPE_ASSERT(path_to_remove[0] == 0 && path.size() < sizeof path_to_remove, path);
  std::memcpy(path_to_remove, path.c_str(), path.size() + 1);
  struct sigaction action {};
  action.sa_handler = remove_and_end;
  for (std::size_t i = 0; i < std::size(ending_signals); ++i)
    ::sigaction(ending_signals[i], &action, &former[i]);
}

void unguard() {
  for (std::size_t i = 0; i < std::size(ending_signals); ++i)
    ::sigaction(ending_signals[i], &former[i], nullptr);
  path_to_remove[0] = 0;
}

}  // namespace

result<replacement_file> replacement_file::reserve(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return error{errc::bad_input, "cannot write " + path + ": it is there and is no regular file"};
  auto temporary = path + ".partial-" + std::to_string(::getpid());
  if (temporary.size() >= sizeof path_to_remove)
    return error{errc::bad_input, "cannot write " + path + ": " + std::strerror(ENAMETOOLONG)};
  return replacement_file(path, std::move(temporary));
}

replacement_file::replacement_file(std::string path, std::string temporary)
    : path_(std::move(path)), temporary_(std::move(temporary)) {
  guard(temporary_);
}

replacement_file::replacement_file(replacement_file&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

replacement_file::~replacement_file() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  unguard();
}

result<void> replacement_file::put_in_place() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    return error{errno == ENOSPC || errno == EDQUOT ? errc::no_resources : errc::bad_input,
                 "cannot write " + path_ + ": " + std::strerror(errno)};
  temporary_.clear();
  unguard();
  return {};
}

}  // namespace troupe
