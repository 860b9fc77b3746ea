// launcher_reports: troupe_client.h's functions for launchers in other languages: one control frame
// to a descriptor.
//
// A frame is one write, so that several processes may report to the same stream.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "interpose/client/c_status.hpp"
#include "interpose/client/troupe_client.h"
#include "messages/wire_codec.hpp"

using namespace troupe;

namespace {

int report(int descriptor, const from_launcher::frame& frame) {
  const auto bytes = encode(frame);
  std::size_t done = 0;
  while (done < bytes.size()) {
    auto sent = ::send(descriptor, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK)
      sent = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (sent >= 0)
      done += static_cast<std::size_t>(sent);
    else if (errno != EINTR)
      return fail(
          {errc::lost_rank, std::string("no report to the runner: ") + std::strerror(errno)});
  }
  return 0;
}

}  // namespace

int troupe_die_with_parent(void) {
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0
             ? 0
             : fail(
                 {errc::internal, std::string("no parent death signal: ") + std::strerror(errno)});
}

int troupe_report_started(int descriptor, uint32_t rank, int32_t pid) {
  return report(descriptor, from_launcher::started{{rank}, pid});
}

int troupe_report_ended(int descriptor, uint32_t rank, int32_t pid, int32_t wait_status,
                        uint64_t cpu_ns, uint64_t peak_bytes) {
  return report(descriptor, from_launcher::ended{{rank}, pid, wait_status, cpu_ns, peak_bytes});
}

int troupe_report_failed(int descriptor, int status, const char* text) {
  return report(descriptor, from_launcher::failed{{static_cast<errc>(status), text}});
}
