// A rank's program whose waits only the preload library sees: sleeps, a condition variable inside a
// future, other threads, descriptors.
//
// Exit status 0: everything came as it must; else the line of what did not. Sleeps are told apart
// by the port.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include "interpose/client/troupe_client.h"

namespace {

struct future {
  std::mutex mutex;
  std::condition_variable done;
  bool complete = false;
  static void finish(void* self, int, const char*, std::int32_t) {
    auto& which = *static_cast<future*>(self);
    const std::lock_guard hold(which.mutex);
    which.complete = true;
    which.done.notify_all();
  }
};

#define PROGRAM_CHECK(condition) \
  if (!(condition)) return __LINE__

/// As MPI waits: it says that others may run, over and over, and sleeps a little at times.
int poll_for_a_while() {
  PROGRAM_CHECK(troupe_connect() == 0);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (const auto until = now() + std::chrono::milliseconds(200); now() < until;) {
    sched_yield();
    usleep(100);
  }
  troupe_leave();
  return 0;
}

}  // namespace

int main(int words, char** word) {
  if (words > 1 && std::string_view(word[1]) == "polls") return poll_for_a_while();
  PROGRAM_CHECK(troupe_connect() == 0);
  usleep(500);  // not worth a slot
  PROGRAM_CHECK(troupe_mark(1) == 0);
  usleep(5'000);
  const timespec ten_ms{0, 10'000'000};
  PROGRAM_CHECK(nanosleep(&ten_ms, nullptr) == 0);
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 1;
  PROGRAM_CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == 0);
  PROGRAM_CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == 0);  // passed
  PROGRAM_CHECK(sleep(1) == 0);

  const std::uint32_t members[] = {0, 1};
  std::uint64_t world = 0, operation = 0;
  PROGRAM_CHECK(troupe_open_communicator(members, 2, 0, "world", &world) == 0);
  const troupe_call barrier{8, 0, 0, 0, 0, 0, 0, nullptr, nullptr};
  future of_barrier;
  PROGRAM_CHECK(troupe_issue(world, &barrier, nullptr, 0, nullptr, 0, nullptr, future::finish,
                             &of_barrier, &operation)
                == 0);
  PROGRAM_CHECK(troupe_watch_future(operation, &of_barrier, &of_barrier + 1) == 0);
  {
    std::unique_lock hold(of_barrier.mutex);
    while (!of_barrier.complete) of_barrier.done.wait(hold);
  }
  // A thread waits for communication, and this one for the thread.
  bool waited = false;
  std::thread other([&] {
    std::uint64_t mine = 0;
    waited =
        troupe_issue(world, &barrier, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr, &mine) == 0
        && troupe_wait(mine, 0) == 0;
  });
  other.join();
  PROGRAM_CHECK(waited);

  // This thread waits for what a future's callback does.
  sem_t done;
  PROGRAM_CHECK(sem_init(&done, 0, 0) == 0);
  auto post = [](void* semaphore, int, const char*, std::int32_t) {
    sem_post(static_cast<sem_t*>(semaphore));
  };
  char elsewhere = 0;
  PROGRAM_CHECK(
      troupe_issue(world, &barrier, nullptr, 0, nullptr, 0, nullptr, post, &done, &operation) == 0);
  PROGRAM_CHECK(troupe_watch_future(operation, &elsewhere, &elsewhere + 1) == 0);
  PROGRAM_CHECK(sem_wait(&done) == 0);

  PROGRAM_CHECK(poll(nullptr, 0, 1) == 0);  // not worth a slot
  PROGRAM_CHECK(poll(nullptr, 0, 20) == 0);
  timeval twenty_ms{0, 20'000};
  PROGRAM_CHECK(select(0, nullptr, nullptr, nullptr, &twenty_ms) == 0);
  timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 1;
  PROGRAM_CHECK(sem_timedwait(&done, &soon) == -1 && errno == ETIMEDOUT);
  troupe_leave();
  return 0;
}
