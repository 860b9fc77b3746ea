// worker_pool: a queue under one lock and threads that empty it.
//
// The queue has no limit of its own: who submits has a bounded number of jobs under way (a step of
// a reduction, a page to spill). A job that throws is a bug of ours and ends the process with what
// it threw: nobody would ever hear of its end.
#include "gpu/worker_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "messages/assert.hpp"

namespace troupe {

namespace {

void run(const std::function<void()>& job) {
  std::string thrown = "nothing";
  try {
    job();
    return;
  } catch (const std::exception& what) {
    thrown = what.what();
  } catch (...) {
    thrown = "an unknown exception";
  }
  bool job_threw = true;
  TROUPE_ASSERT(!job_threw, thrown);
}

/// Threads started while one of these lives take no signals: those are for the program's own
/// threads.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

class thread_pool final : public worker_pool {
 public:
  /// Once. Those already started end with the pool.
  result<void> start(std::uint32_t threads) {
    signals_blocked while_starting;
    try {
      for (std::uint32_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { work(); });
        pthread_setname_np(threads_.back().native_handle(),
                           ("worker-" + std::to_string(i)).c_str());
      }
    } catch (const std::system_error& why) {
      return error{errc::no_resources, "no thread for worker " + std::to_string(threads_.size())
                                           + ": " + why.code().message()};
    }
    return {};
  }

  ~thread_pool() override {
    {
      std::lock_guard guard(lock_);
      closing_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void submit(std::function<void()> job) override {
    {
      std::lock_guard guard(lock_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock guard(lock_);
    for (;;) {
      wake_.wait(guard, [&] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      run(job);
      job = nullptr;  // what it captured dies outside the lock
      guard.lock();
    }
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

class inline_pool final : public worker_pool {
 public:
  void submit(std::function<void()> job) override { run(job); }
};

}  // namespace

result<std::unique_ptr<worker_pool>> make_worker_pool(std::uint32_t threads) {
  auto pool = std::make_unique<thread_pool>();
  if (auto started = pool->start(std::max(threads, 1u)); !started) return started.error();
  return std::unique_ptr<worker_pool>(std::move(pool));
}

std::unique_ptr<worker_pool> make_inline_pool() { return std::make_unique<inline_pool>(); }

}  // namespace troupe
