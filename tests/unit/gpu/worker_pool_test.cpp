// worker_pool_test: every job runs once, in order on one worker; threads are named and take no
// signals; a throw is loud.
#include "gpu/worker_pool.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace troupe;

namespace {

std::unique_ptr<worker_pool> started_pool(std::uint32_t threads) {
  auto pool = make_worker_pool(threads);
  REQUIRE(pool);
  return std::move(*pool);
}

/// How a child process ends that gives a throwing job to `pool`.
int status_of_throwing_job(bool inline_pool) {
  pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's own handler would speak
    if (!freopen("/dev/null", "w", stderr)) _exit(9);
    auto pool = inline_pool ? make_inline_pool() : started_pool(1);
    pool->submit([] { throw std::runtime_error("a bug"); });
    pool.reset();
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace

TEST_CASE("every job runs once, also those still queued when the pool ends") {
  for (std::uint32_t threads : {0u, 1u, 4u}) {
    std::vector<std::atomic<int>> runs(1000);
    {
      auto pool = started_pool(threads);
      for (auto& run : runs) pool->submit([&run] { ++run; });
    }
    int wrong = 0;
    for (auto& run : runs) wrong += run != 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("one worker runs jobs in the order of their submission") {
  std::vector<int> order;
  {
    auto pool = started_pool(1);
    for (int i = 0; i < 100; ++i) pool->submit([&, i] { order.push_back(i); });
  }
  std::vector<int> sorted(100);
  for (int i = 0; i < 100; ++i) sorted[i] = i;
  CHECK(order == sorted);
}

TEST_CASE("a job may submit another, even while the pool ends") {
  std::atomic<bool> ran = false;
  {
    auto pool = started_pool(2);
    auto* raw = pool.get();
    pool->submit([&, raw] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      raw->submit([&] { ran = true; });
    });
  }
  CHECK(ran);
}

TEST_CASE("workers work at the same time") {
  auto pool = started_pool(2);
  std::promise<void> first, second, done;
  pool->submit([&] {
    first.set_value();
    second.get_future().wait();
    done.set_value();
  });
  pool->submit([&] {
    first.get_future().wait();
    second.set_value();
  });
  CHECK(done.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

TEST_CASE("workers are named and take no signals, their starter still does") {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto pool = started_pool(1);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
  std::promise<std::pair<std::string, bool>> seen;
  pool->submit([&] {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    seen.set_value({name, sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1});
  });
  auto [name, blocked] = seen.get_future().get();
  CHECK(name == "worker-0");
  CHECK(blocked);
}

TEST_CASE("a machine without a thread to spare is told of, and nothing stays behind") {
  pthread_attr_t before, huge;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  pthread_attr_init(&huge);
  REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 52) == 0);  // more than addresses
  sigset_t mask_before, mask_after;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  const auto pool = make_worker_pool(2);
  REQUIRE(pthread_setattr_default_np(&before) == 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  REQUIRE_FALSE(pool);
  CHECK(pool.error().code == errc::no_resources);
  CHECK(pool.error().context.find("no thread for worker 0: ") == 0);
  CHECK(sigismember(&mask_after, SIGTERM) == sigismember(&mask_before, SIGTERM));
}

TEST_CASE("the inline pool runs a job at once in its caller") {
  auto pool = make_inline_pool();
  std::thread::id ran_in;
  pool->submit([&] { ran_in = std::this_thread::get_id(); });
  CHECK(ran_in == std::this_thread::get_id());
}

TEST_CASE("a job that throws ends the process as a bug, not the thread in silence") {
  for (bool inline_pool : {false, true}) {
    int status = status_of_throwing_job(inline_pool);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
  }
}
