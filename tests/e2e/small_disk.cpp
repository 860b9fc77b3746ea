#include "tests/e2e/small_disk.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace troupe::e2e {
namespace {

// A user who is not root may mount in name spaces of his own, where the kernel allows those.
bool become_root_of_own_name_space() {
  const auto user = std::to_string(geteuid()), group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
  return true;
}

}  // namespace

std::unique_ptr<small_disk> small_disk::mounted(const std::string& folder,
                                                std::uint64_t size_bytes) {
  if (geteuid() != 0 && !become_root_of_own_name_space()) return nullptr;
  std::filesystem::create_directory(folder);
  const auto options = "mode=0777,size=" + std::to_string(size_bytes);
  if (mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return nullptr;
  return std::unique_ptr<small_disk>(new small_disk(folder));
}

small_disk::~small_disk() { umount2(folder_.c_str(), MNT_DETACH); }

}  // namespace troupe::e2e
