// rank_client's part in waits that the preload library sees: condition variables of watched
// futures, other threads, sleeps, and polling.
#include <time.h>

#include "interpose/client/poll_burst.hpp"
#include "interpose/client/rank_client.hpp"

namespace troupe {
namespace {

/// That the calling thread has used.
std::uint64_t cpu_ns() {
  timespec used;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace

std::uint64_t rank_client::watched(const void* address) const {
  const auto operation = talk_.futures().find(address);
  return operation ? operation->value : 0;
}

void rank_client::future_wait_begins(operation_id operation) {
  auto hold = talk_.lock();
  auto& seat = talk_.seat(hold);
  seat = {thread_seat::state::waiting, operation, release_reason::collective};
  seat.at_future = true;
  talk_.declare_if_blocked(hold);
  talk_.flush(hold);
}

// No edge is noted: only waits that block come here, and the graph must not depend on that. A
// future's operation is awaited at the next synchronising marker.
bool rank_client::future_wait_ended() {
  auto hold = talk_.lock();
  talk_.seat(hold) = {};
  talk_.note_running(hold);
  return talk_.lacks_slot();
}

bool rank_client::sleep_begins() {
  auto hold = talk_.lock();
  auto* seat = talk_.seat_if_any();
  if (!seat || seat->now != thread_seat::state::running || talk_.gone().code != errc::none)
    return false;
  seat->now = thread_seat::state::sleeping;
  talk_.declare_if_blocked(hold);
  talk_.flush(hold);
  return true;
}

void rank_client::sleep_ended() {
  auto hold = talk_.lock();
  talk_.seat(hold) = {};
  talk_.ensure_slot(hold, conversation::callbacks::later);
}

bool rank_client::park_begins(const void* object) {
  auto* seat = talk_.owns(object) ? nullptr : talk_.seat_if_any();
  if (!seat) return false;
  auto hold = talk_.lock();
  if (seat->now != thread_seat::state::running || talk_.gone().code != errc::none) return false;
  seat->now = thread_seat::state::parked;
  talk_.declare_if_blocked(hold);
  talk_.flush(hold);
  return true;
}

bool rank_client::park_ended() {
  auto hold = talk_.lock();
  talk_.seat(hold) = {};
  talk_.note_running(hold);
  return talk_.lacks_slot();
}

bool rank_client::poll() {
  static thread_local poll_burst burst;
  if (!talk_.seat_if_any() || !burst.yields(monotonic_ns(), cpu_ns())) return false;
  {
    auto hold = talk_.lock();
    auto* seat = talk_.seat_if_any();
    if (!seat || seat->now != thread_seat::state::running || talk_.gone().code != errc::none)
      return false;
    talk_.yield_slot(hold, conversation::callbacks::later);
  }
  burst.goes_on(cpu_ns());
  return true;
}

void rank_client::retake_slot() {
  auto hold = talk_.lock();
  talk_.ensure_slot(hold, conversation::callbacks::later);
}

}  // namespace troupe
