// journal: the file. Not here: what a record is in bytes (journal_codec.cpp).
#include "messages/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "messages/assert.hpp"
#include "messages/journal_codec.hpp"

namespace troupe {

namespace {

error failed(errc code, const std::string& path, const std::string& why) {
  return {code, path + ": " + why};
}

error failed(errc code, const std::string& path, int number) {
  return failed(code, path, std::strerror(number));
}

struct descriptor {
  int number = -1;
  ~descriptor() {
    if (number >= 0) close(number);
  }
};

/// All bytes of a file that is a file, and not too long.
result<std::string> read_file(int from, const std::string& path) {
  struct stat status {};
  if (fstat(from, &status) != 0) return failed(errc::bad_input, path, errno);
  if (!S_ISREG(status.st_mode)) return failed(errc::bad_input, path, "not a file");
  if (static_cast<std::uint64_t>(status.st_size) > journal_bytes_max)
    return failed(errc::bad_input, path, "too long for a journal");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    auto n = pread(from, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errc::bad_input, path, errno);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

result<journal::contents> parse(std::span<const char> bytes, const std::string& path) {
  journal::contents contents;
  std::size_t at = 0;
  while (at < bytes.size()) {
    auto decoded = decode_record(bytes.subspan(at));
    if (!decoded)
      return failed(decoded.error().code, path,
                    "record " + std::to_string(contents.records.size() + 1) + " (byte "
                        + std::to_string(at) + ") cannot be believed: " + decoded.error().context);
    if (!*decoded) break;
    contents.records.push_back(std::move((*decoded)->record));
    at += (*decoded)->length;
  }
  contents.torn_bytes = bytes.size() - at;
  return contents;
}

}  // namespace

result<journal::contents> read_journal(const std::string& path) {
  descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) return failed(errc::bad_input, path, errno);
  TROUPE_TRY(bytes, read_file(file.number, path));
  return parse(bytes, path);
}

result<journal_writer> journal_writer::open(const std::string& path) {
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  descriptor file{::open(path.c_str(), flags, 0644)};
  if (file.number < 0) return failed(errc::no_resources, path, errno);
  TROUPE_TRY(bytes, read_file(file.number, path));
  TROUPE_TRY(contents, parse(bytes, path));
  auto whole = bytes.size() - contents.torn_bytes;
  if (contents.torn_bytes > 0 && ftruncate(file.number, static_cast<off_t>(whole)) != 0)
    return failed(errc::no_resources, path, errno);
  return journal_writer(std::exchange(file.number, -1), whole, path);
}

journal_writer::journal_writer(int descriptor, std::uint64_t size, std::string path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

journal_writer::journal_writer(journal_writer&& from) noexcept
    : descriptor_(std::exchange(from.descriptor_, -1)),
      size_(from.size_),
      path_(std::move(from.path_)),
      broken_(from.broken_) {}

journal_writer& journal_writer::operator=(journal_writer&& from) noexcept {
  std::swap(descriptor_, from.descriptor_);
  std::swap(size_, from.size_);
  std::swap(path_, from.path_);
  std::swap(broken_, from.broken_);
  return *this;
}

journal_writer::~journal_writer() {
  if (descriptor_ >= 0) close(descriptor_);
}

result<void> journal_writer::append(const journal::record& record) {
  TROUPE_ASSERT(descriptor_ >= 0);
  if (broken_) return failed(errc::no_resources, path_, "the journal ends with a torn record");
  TROUPE_TRY(bytes, encode_record(record));
  if (size_ + bytes.size() > journal_bytes_max)
    return failed(errc::no_resources, path_, "the journal is full");
  std::size_t written = 0;
  while (written < bytes.size()) {  // one write, but for a disk that takes only part of it
    auto n = write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int number = n < 0 ? errno : ENOSPC;
      broken_ = written > 0 && ftruncate(descriptor_, static_cast<off_t>(size_)) != 0;
      return failed(errc::no_resources, path_, number);
    }
    written += static_cast<std::size_t>(n);
  }
  size_ += bytes.size();
  return {};
}

}  // namespace troupe
