#include "graph/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

error cannot_read(const std::string& path, const std::string& why) {
  return {errc::bad_input, "cannot read " + path + ": " + why};
}

}  // namespace

result<input_file> input_file::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes would wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return cannot_read(path, std::strerror(errno));
  input_file file(path, descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return cannot_read(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read(path, "it is a directory");
  if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is not a regular file");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

input_file::~input_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

result<void> input_file::read(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_read(path_, std::strerror(errno));
    if (count == 0) return cannot_read(path_, "it became shorter while it was read");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

}  // namespace troupe
