// wait: wait, waitpid, wait3 and wait4: of a program that starts its ranks itself, the warden is
// told how its parent's child ended: only a parent learns it.
//
// Told before the caller knows: what the caller does about it comes later. errno and what the
// caller is given stay what the kernel said.
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "interpose/launch/rank_notice.h"

namespace {

uint64_t in_ns(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000
         + static_cast<uint64_t>(time.tv_usec) * 1'000;
}

void tell(const char* socket_name, pid_t pid, int status, const rusage& used) {
  const size_t length = strlen(socket_name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (length == 0 || length + 1 > sizeof address.sun_path) return;
  memcpy(address.sun_path + 1, socket_name, length);
  const troupe_rank_notice notice{troupe_notice_of_end,
                                  pid,
                                  0,
                                  status,
                                  in_ns(used.ru_utime) + in_ns(used.ru_stime),
                                  static_cast<uint64_t>(used.ru_maxrss) * 1024};
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  ssize_t sent;
  do
    sent = sendto(descriptor, &notice, sizeof notice, MSG_NOSIGNAL,
                  reinterpret_cast<sockaddr*>(&address), size);
  while (sent < 0 && errno == EINTR);
  close(descriptor);
}

pid_t wait_and_tell(pid_t pid, int* status, int options, rusage* used) {
  static std::atomic<decltype(&wait4)> kept{nullptr};
  auto real = kept.load(std::memory_order_relaxed);
  if (!real)
    kept.store(real = reinterpret_cast<decltype(&wait4)>(dlsym(RTLD_NEXT, "wait4")),
               std::memory_order_relaxed);
  int own_status = 0;
  rusage own_used{};
  const pid_t ended = real(pid, &own_status, options, &own_used);
  if (ended > 0) {
    const int kept_error = errno;
    const char* socket_name = getenv("TROUPE_NOTICES");
    if (socket_name && (WIFEXITED(own_status) || WIFSIGNALED(own_status)))
      tell(socket_name, ended, own_status, own_used);
    errno = kept_error;
    if (status) *status = own_status;
    if (used) *used = own_used;
  }
  return ended;
}

}  // namespace

#define TROUPE_INTERPOSED extern "C" __attribute__((visibility("default")))

TROUPE_INTERPOSED pid_t wait(int* status) { return wait_and_tell(-1, status, 0, nullptr); }

TROUPE_INTERPOSED pid_t waitpid(pid_t pid, int* status, int options) {
  return wait_and_tell(pid, status, options, nullptr);
}

TROUPE_INTERPOSED pid_t wait3(int* status, int options, rusage* used) noexcept {
  return wait_and_tell(-1, status, options, used);
}

TROUPE_INTERPOSED pid_t wait4(pid_t pid, int* status, int options, rusage* used) noexcept {
  return wait_and_tell(pid, status, options, used);
}
