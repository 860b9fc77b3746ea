#include "interpose/client/launched_rank.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/descriptor.hpp"
#include "interpose/launch/rank_notice.h"

namespace troupe {
namespace {

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

const char* rank_of_mpi() {
  for (const auto* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return rank;
  return nullptr;
}

void send(const troupe_rank_notice& notice) {
  const char* name = std::getenv("TROUPE_NOTICES");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto length = name ? std::strlen(name) : 0;
  if (length == 0 || length + 1 > sizeof address.sun_path) return;
  std::memcpy(address.sun_path + 1, name, length);
  const descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ssize_t sent;
  do
    sent = ::sendto(socket.get(), &notice, sizeof notice, MSG_NOSIGNAL,
                    reinterpret_cast<sockaddr*>(&address),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length));
  while (sent < 0 && errno == EINTR);
}

}  // namespace

const char* rank_in_environment() {
  if (const char* rank = std::getenv("RANK")) return rank;
  if (!std::getenv("TROUPE_NOTICES")) return nullptr;
  return rank_of_mpi();
}

bool is_from_mpi() {
  static const bool once = rank_of_mpi() != nullptr;
  return once;
}

void tell_warden(rank_id rank) { send({troupe_notice_of_rank, ::getpid(), rank.value, 0, 0, 0}); }

void tell_warden_of_leave() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  send({troupe_notice_of_leave, ::getpid(), 0, 0, 0,
        static_cast<std::uint64_t>(used.ru_maxrss) * 1024});
}

void take_own_output(rank_id rank) {
  const char* where = std::getenv("TROUPE_OUTPUTS");
  int warden = 0, table = 0;
  unsigned world = 0;
  if (!where || std::sscanf(where, "%d:%d:%u", &warden, &table, &world) != 3) return;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", warden, table);
  const descriptor list(::open(path, O_RDONLY | O_CLOEXEC));
  troupe_output_ends own{}, shared{};
  const auto at = [](unsigned index) { return static_cast<off_t>(index * sizeof own); };
  if (!list || ::pread(list.get(), &own, sizeof own, at(rank.value)) != sizeof own
      || ::pread(list.get(), &shared, sizeof shared, at(world)) != sizeof shared)
    return;
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_output = standard == STDOUT_FILENO;
    struct stat now {
    }, programs{};
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", warden,
                  is_output ? shared.standard_output : shared.standard_error);
    if (::fstat(standard, &now) != 0 || ::stat(path, &programs) != 0
        || !is_same_file(now, programs))
      continue;
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", warden,
                  is_output ? own.standard_output : own.standard_error);
    const descriptor pipe(::open(path, O_WRONLY | O_CLOEXEC));
    if (pipe) ::dup2(pipe.get(), standard);
  }
}

}  // namespace troupe
