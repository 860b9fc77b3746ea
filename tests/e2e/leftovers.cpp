#include "tests/e2e/leftovers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/command.hpp"

namespace troupe::e2e {
namespace {

namespace fs = std::filesystem;

std::set<std::string> shared_files() {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto* folder : {"/dev/shm", "/dev/mqueue"})
    for (const auto& entry : fs::directory_iterator(folder, ignored)) found.insert(entry.path());
  return found;
}

std::set<std::string> inodes_of_sockets(const fs::path& process) {
  std::set<std::string> inodes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(process / "fd", ignored)) {
    const auto target = fs::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

bool is_ours(int pid, const std::vector<process>& ours) {
  return pid == getpid()
         || std::any_of(ours.begin(), ours.end(), [&](const auto& p) { return p.pid == pid; });
}

/// …troupe-PID-…: what another test's run, alive at this moment, names as its own. (Who holds a
/// socket does not tell: the table and the descriptors are not read at one instant.)
bool belongs_to_another_run(const std::string& name, const std::vector<process>& ours) {
  const auto runner = std::atoi(name.c_str() + name.find("troupe-") + std::strlen("troupe-"));
  return fs::exists("/proc/" + std::to_string(runner)) && !is_ours(runner, ours);
}

/// Inode and name of each abstract socket @troupe-….
std::vector<std::pair<std::string, std::string>> named_sockets() {
  std::vector<std::pair<std::string, std::string>> named;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string field, inode, name;
    for (int n = 0; n < 7; ++n) fields >> field, inode = field;
    if (fields >> name && name.starts_with("@troupe-")
        && inode != "0")  // 0: its listener's, not yet accepted
      named.emplace_back(inode, name);
  }
  return named;
}

/// Abstract sockets @troupe-…, but those held by processes that are not below this one.
std::vector<std::string> abstract_sockets(const std::vector<process>& ours) {
  auto named = named_sockets();
  if (named.empty()) return {};
  std::set<std::string> of_others;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && !is_ours(pid, ours)) of_others.merge(inodes_of_sockets(entry.path()));
  }
  std::erase_if(named, [&](const auto& each) {
    return of_others.contains(each.first) || belongs_to_another_run(each.second, ours);
  });
  if (named.empty()) return {};
  // Another run's that ended while we looked had no holder any more: now it is gone.
  const auto still_there = named_sockets();
  std::vector<std::string> found;
  for (const auto& each : named)
    if (std::find(still_there.begin(), still_there.end(), each) != still_there.end())
      found.push_back("socket " + each.second);
  return found;
}

}  // namespace

leftovers::leftovers() : files_before_(shared_files()) {}

std::vector<std::string> leftovers::look() const {
  std::vector<std::string> found;
  const auto processes = descendants();
  for (const auto& process : processes)
    found.push_back("process " + std::to_string(process.pid) + " " + process.command_line);
  for (auto& socket : abstract_sockets(processes)) found.push_back(std::move(socket));
  for (const auto& file : shared_files())
    if (!files_before_.contains(file) && file.find("troupe-") != std::string::npos
        && !belongs_to_another_run(file, processes))
      found.push_back("file " + file);
  return found;
}

std::vector<std::string> leftovers::found(std::chrono::milliseconds deadline) const {
  std::vector<std::string> last;
  eventually(
      [&] {
        last = look();
        return last.empty();
      },
      deadline);
  return last;
}

}  // namespace troupe::e2e
