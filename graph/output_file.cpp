#include "graph/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "messages/assert.hpp"

namespace troupe {
namespace {

bool is_want_of_resources(int number) {
  return number == ENOSPC || number == EDQUOT || number == EMFILE || number == ENFILE
         || number == ENOMEM || number == EIO;
}

error cannot(const char* what, const std::string& path, errc code, int number) {
  return {code, std::string("cannot ") + what + " " + path + ": " + std::strerror(number)};
}

}  // namespace

result<output_file> output_file::create(const std::string& path) {
  const auto refuse = [&](int number) {
    return cannot("create", path,
                  is_want_of_resources(number) ? errc::no_resources : errc::bad_input, number);
  };
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return refuse(errno);
  struct stat there {};
  if (::fstat(descriptor, &there) != 0 || !S_ISREG(there.st_mode))
    return output_file(path, descriptor);
  // Two writers would leave what is neither's. A file system without locks has none to tell of.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor);
    return error{errc::bad_input, "cannot create " + path + ": another process is writing it"};
  }
  if (::ftruncate(descriptor, 0) != 0) {
    const int number = errno;
    ::close(descriptor);
    return refuse(number);
  }
  return output_file(path, descriptor);
}

output_file::output_file(output_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_) {}

output_file::~output_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

result<void> output_file::write(std::span<const std::uint8_t> bytes) {
  TROUPE_ASSERT(descriptor_ >= 0, path_);
  while (!bytes.empty()) {
    const auto count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("write", path_, errc::no_resources, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
  return {};
}

result<void> output_file::write(const std::string& text) {
  return write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

result<void> output_file::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0)
    return cannot("write", path_, errc::no_resources, errno);
  return {};
}

}  // namespace troupe
