// descriptor_wait: poll, select, epoll_wait: where nothing is ready and the wait is longer than a
// millisecond, the rank gives its slot up meanwhile. (The client library itself uses ppoll.)
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "interpose/preload/interposed.hpp"

namespace {

using troupe::preload::next;
using troupe::preload::sleep_section;

bool is_long(int timeout_ms) { return timeout_ms < 0 || timeout_ms > 1; }

}  // namespace

TROUPE_INTERPOSED int poll(pollfd* descriptors, nfds_t count, int timeout_ms) {
  static std::atomic<int (*)(pollfd*, nfds_t, int)> real{nullptr};
  const auto function = next(real, "poll");
  if (!troupe::preload::hooks() || !is_long(timeout_ms))
    return function(descriptors, count, timeout_ms);
  if (const int ready = function(descriptors, count, 0)) return ready;
  const sleep_section section(true);
  return function(descriptors, count, timeout_ms);
}

TROUPE_INTERPOSED int epoll_wait(int poller, epoll_event* events, int most, int timeout_ms) {
  static std::atomic<int (*)(int, epoll_event*, int, int)> real{nullptr};
  const auto function = next(real, "epoll_wait");
  if (!troupe::preload::hooks() || !is_long(timeout_ms))
    return function(poller, events, most, timeout_ms);
  if (const int ready = function(poller, events, most, 0)) return ready;
  const sleep_section section(true);
  return function(poller, events, most, timeout_ms);
}

TROUPE_INTERPOSED int select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                             timeval* timeout) {
  static std::atomic<int (*)(int, fd_set*, fd_set*, fd_set*, timeval*)> real{nullptr};
  const auto function = next(real, "select");
  const bool is_long = !timeout || timeout->tv_sec > 0 || timeout->tv_usec > 1000;
  const sleep_section section(is_long);  // the sets are overwritten: no look before
  return function(count, readable, writable, exceptional, timeout);
}
