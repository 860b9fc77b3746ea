// small_disk: a file system of a few kilobytes, mounted for as long as the object lives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace troupe::e2e {

class small_disk {
 public:
  /// At FOLDER, which it makes; nothing when this process may not mount.
  static std::unique_ptr<small_disk> mounted(const std::string& folder, std::uint64_t size_bytes);
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk();

 private:
  explicit small_disk(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace troupe::e2e
