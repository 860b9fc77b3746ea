#include "interpose/launch/launched_ranks.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

using frames = std::vector<from_launcher::frame>;

error no_resources(const char* what) {
  return {errc::no_resources, std::string(what) + ": " + std::strerror(errno)};
}

struct end_seen {
  bool is_zombie = false;
  int wait_status = 0;
  std::uint64_t cpu_ns = 0;
};

/// What /proc/PID/stat keeps of a process until its parent waited for it; proc(5) counts from 1.
end_seen look_at_end(pid_t pid) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const auto got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return {};
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');
  if (!at || at[1] != ' ' || at[2] != 'Z') return {};
  unsigned long long fields[53] = {};  // the third is at + 2
  at += 3;
  for (int field = 4; field <= 52; ++field) {
    char* after = nullptr;
    fields[field] = std::strtoull(at, &after, 10);
    if (after == at) return {};
    at = after;
  }
  const auto tick_ns = 1'000'000'000ull / static_cast<unsigned long long>(::sysconf(_SC_CLK_TCK));
  return {true, static_cast<int>(fields[52]), (fields[14] + fields[15]) * tick_ns};
}

}  // namespace

result<launched_ranks> launched_ranks::open(std::uint32_t world) {
  launched_ranks made;
  made.world_ = world;
  made.was_seen_.resize(world);
  std::uint64_t secret = 0;
  [[maybe_unused]] const auto random = ::getrandom(&secret, sizeof secret, 0);
  char name[64];
  std::snprintf(name, sizeof name, "troupe-notices-%d-%016llx", ::getpid(),
                static_cast<unsigned long long>(secret));
  made.name_ = name;
  made.socket_ = descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  made.poller_ = descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!made.socket_ || !made.poller_) return no_resources("no socket for the ranks' notices");
  const int on = 1;
  ::setsockopt(made.socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, made.name_.data(), made.name_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + made.name_.size());
  if (::bind(made.socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    return no_resources("no name for the ranks' notices");
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(made.poller_.get(), EPOLL_CTL_ADD, made.socket_.get(), &event);
  return made;
}

int launched_ranks::timeout_ms(moment now) const {
  int least = -1;
  for (const auto& [pid, process] : processes_) {
    if (!process.gone) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(process.look_at - now);
    const int ms = std::max(0, static_cast<int>(left.count())) + 1;
    least = least < 0 ? ms : std::min(least, ms);
  }
  return least;
}

frames launched_ranks::read(moment now) {
  frames found;
  epoll_event events[64];
  const int count = ::epoll_wait(poller_.get(), events, 64, 0);
  for (int at = 0; at < count; ++at) {
    const auto gone = processes_.find(static_cast<pid_t>(events[at].data.u64));
    if (gone == processes_.end()) continue;  // the socket's, read below
    gone->second.gone = true;
    gone->second.since = now;
    gone->second.look_at = now + patience;
    gone->second.pidfd.reset();  // leaves the poller with it
  }
  for (;;) {
    troupe_rank_notice notice;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{&notice, sizeof notice};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0) return found;
    const auto* head = CMSG_FIRSTHDR(&message);
    ucred sender{};
    if (head && head->cmsg_type == SCM_CREDENTIALS)
      std::memcpy(&sender, CMSG_DATA(head), sizeof sender);
    if (got != sizeof notice || sender.pid <= 0 || sender.uid != ::geteuid()) continue;
    if (notice.kind == troupe_notice_of_rank && notice.pid == sender.pid) begin(notice, found);
    const auto known = processes_.find(notice.pid);
    if (known == processes_.end()) continue;
    if (notice.kind == troupe_notice_of_leave && notice.pid == sender.pid)
      known->second.peak_bytes = notice.peak_bytes;
    if (notice.kind != troupe_notice_of_end) continue;
    found.emplace_back(from_launcher::ended{known->second.rank, notice.pid, notice.wait_status,
                                            notice.cpu_ns, notice.peak_bytes});
    processes_.erase(known);
  }
}

/// A second process that takes itself for a rank is refused by the runner.
void launched_ranks::begin(const troupe_rank_notice& notice, frames& found) {
  if (notice.rank >= world_ || was_seen_[notice.rank]) return;
  was_seen_[notice.rank] = true;
  ++seen_;
  process begun;
  begun.rank = {notice.rank};
  begun.pidfd = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, notice.pid, 0)));
  if (begun.pidfd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(notice.pid);
    ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, begun.pidfd.get(), &event);
  } else {
    begun.gone = true;  // already
    begun.since = begun.look_at = std::chrono::steady_clock::now();
  }
  processes_.insert_or_assign(notice.pid, std::move(begun));
  found.emplace_back(from_launcher::started{{notice.rank}, notice.pid});
}

frames launched_ranks::overdue(moment now) {
  frames found;
  for (auto at = processes_.begin(); at != processes_.end();) {
    const auto pid = at->first;
    auto& process = at->second;
    const bool is_time = process.gone && now >= process.look_at;
    const auto seen = is_time ? look_at_end(pid) : end_seen{};
    if (seen.is_zombie) {
      found.emplace_back(from_launcher::ended{process.rank, pid, seen.wait_status, seen.cpu_ns,
                                              process.peak_bytes});
      at = processes_.erase(at);
    } else if (is_time && now - process.since > parents_patience) {
      found.emplace_back(from_launcher::failed{
          {errc::lost_rank, "rank " + std::to_string(process.rank.value) + " (process "
                                + std::to_string(pid)
                                + ") ended, and nobody says how: its parent runs without Troupe's "
                                  "preload library"}});
      found.emplace_back(from_launcher::ended{process.rank, pid, SIGKILL, 0, 0});
      at = processes_.erase(at);
    } else {
      if (is_time) process.look_at = now + patience;
      ++at;
    }
  }
  return found;
}

frames launched_ranks::reaped(pid_t pid, int wait_status, std::uint64_t cpu_ns,
                              std::uint64_t peak_bytes) {
  const auto known = processes_.find(pid);
  if (known == processes_.end()) return {};
  const from_launcher::ended how{known->second.rank, pid, wait_status, cpu_ns, peak_bytes};
  processes_.erase(known);
  return {how};
}

std::vector<pid_t> launched_ranks::alive() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_)
    if (!process.gone) pids.push_back(pid);
  return pids;
}

}  // namespace troupe
