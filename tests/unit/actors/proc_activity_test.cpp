// proc_activity_test: threads of this very process, looked at as those of a rank.
#include "actors/proc_activity.hpp"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

/// A machine may be busy: what a thread is about to do is waited for.
bool becomes(bool expected, const std::function<bool()>& look) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (look() != expected) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

struct looked_at {
  std::unique_ptr<process_activity> activity = make_proc_activity();
  std::vector<std::int32_t> waiting{::gettid()};
  bool takes_signals = false;
  bool may_act() { return activity->may_act(::getpid(), waiting, takes_signals); }
};

}  // namespace

TEST_CASE("a process whose only thread waits for us cannot act, one that is gone may") {
  looked_at process;
  CHECK_FALSE(process.may_act());
  CHECK(process.activity->may_act(::getpid(), {}, false));
  CHECK(process.activity->may_act(0x7fffffff, process.waiting, false));
}

TEST_CASE("a thread that waits for another thread of the process cannot act by itself") {
  looked_at process;
  std::mutex guard;
  std::condition_variable changed;
  bool over = false;
  std::jthread idle([&] {
    std::unique_lock hold(guard);
    changed.wait(hold, [&] { return over; });
  });
  CHECK(becomes(false, [&] { return process.may_act(); }));
  std::jthread joins([&] { idle.join(); });
  CHECK(becomes(false, [&] { return process.may_act(); }));
  {
    std::lock_guard hold(guard);
    over = true;
  }
  changed.notify_all();
}

TEST_CASE("a thread that waits with a limit, sleeps, reads or runs may act") {
  looked_at process;
  std::mutex guard;
  std::condition_variable changed;
  std::atomic<bool> over = false;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::function<void()> ways[] = {[&] {
                                          std::unique_lock hold(guard);
                                          while (!over) changed.wait_for(hold, 50ms);
                                        },
                                        [&] {
                                          while (!over) std::this_thread::sleep_for(50ms);
                                        },
                                        [&] {
                                          char byte;
                                          [[maybe_unused]] auto got = ::read(ends[0], &byte, 1);
                                        },
                                        [&] {
                                          while (!over) {
                                          }
                                        }};
  for (const auto& way : ways) {
    over = false;
    std::atomic<bool> begun = false;
    std::jthread other([&] {
      begun = true;
      way();
    });
    CHECK(becomes(true, [&] { return begun.load(); }));
    for (int n = 0; n < 20; ++n) CHECK(process.may_act());
    over = true;
    REQUIRE(::write(ends[1], "x", 1) == 1);
    other.join();
    char byte;
    if (&way != &ways[2]) REQUIRE(::read(ends[0], &byte, 1) == 1);
  }
  CHECK_FALSE(process.may_act());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE(
    "a process that handles a timer's signal may act, and where it takes signals a message's") {
  looked_at process;
  struct sigaction mine {
  }, before{};
  mine.sa_handler = [](int) {};
  const auto acts_on = [&](int number) {
    REQUIRE(::sigaction(number, &mine, &before) == 0);
    const bool acts = process.may_act();
    REQUIRE(::sigaction(number, &before, nullptr) == 0);
    CHECK_FALSE(process.may_act());
    return acts;
  };
  for (bool takes_signals : {false, true}) {
    process.takes_signals = takes_signals;
    CHECK(acts_on(SIGALRM));
    CHECK(acts_on(SIGRTMIN + 1));
    CHECK(acts_on(SIGCHLD) == takes_signals);
    CHECK(acts_on(SIGUSR1) == takes_signals);
    CHECK_FALSE(acts_on(SIGTERM));
    CHECK_FALSE(acts_on(SIGINT));
  }
}
