// work_graph: what a program has queued on its devices: pieces of work, each after others.
//
// A piece runs when all it comes after is done. Nobody runs it on the side: threads that queue work
// run what is ready (run_ready), threads that wait run what becomes ready (wait), and only when no
// thread of the program is there a worker does: after an answer from outside, and for host
// functions, which may wait for what the program does next. The worker is started at the first
// piece that can need it.
//
// Each piece has a begin and an end on the device's own time line, in ns of the clock given: it
// begins when what it comes after has ended, at the earliest when it was queued, and lasts as long
// as it says; what is answered from outside ends at the answer at the earliest. Thread-safe.
// Not here: streams and events (stream_set.hpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

class work_node;
using node_ptr = std::shared_ptr<work_node>;

struct work {
  enum class kind : std::uint8_t {
    marks,       ///< nothing to do
    computes,    ///< done when run returns
    starts,      ///< run starts it; whoever is told that it is done calls finish
    calls_host,  ///< computes, by the worker
  };
  kind what = kind::marks;
  std::uint64_t duration_ns = 0;
  std::function<void(const node_ptr&)> run = {};
};

/// Pieces of work that must be done one after another, whatever streams they are on (a
/// communicator's operations); and of how many of them the program knows that they are done.
struct work_order {
  node_ptr tail;
  std::uint64_t count = 0, awaited = 0;
  /// The program has waited for the first `count` pieces.
  std::function<void(std::uint64_t count)> on_awaited = {};
};

class work_node {
 public:
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Once done.
  std::uint64_t end_ns() const { return end_ns_; }
  /// How many pieces of each order are done when it is.
  using covered = std::vector<std::pair<std::shared_ptr<work_order>, std::uint64_t>>;
  const covered& covers() const { return covers_; }

 private:
  friend class work_graph;
  void cover(const std::shared_ptr<work_order>& order, std::uint64_t count);

  work what_;
  covered covers_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
  std::size_t lacks_ = 0;
  std::vector<node_ptr> before_;  ///< what comes after it
  std::atomic<bool> done_ = false;
};

class work_graph {
 public:
  struct surroundings {
    std::function<std::uint64_t()> now_ns;
    /// Called once by the worker's thread, before it does anything.
    std::function<void()> worker_begins = [] {};
  };
  explicit work_graph(surroundings outside) : outside_(std::move(outside)) {}
  work_graph(const work_graph&) = delete;
  /// Unfinished work is dropped.
  ~work_graph();

  /// Queues the piece; runs nothing. Null pointers among `after` are nothing. Of an order, it also
  /// comes after that one's last piece (orders are their users' to guard).
  node_ptr add(work what, std::span<const node_ptr> after,
               const std::shared_ptr<work_order>& order = nullptr);
  /// A piece that `starts` is done. By any thread, once.
  void finish(const node_ptr& node);
  /// Runs what is ready, if it is not a host function, until nothing is.
  void run_ready();
  /// Blocks until the node is done.
  void wait(const node_ptr& node);

 private:
  using locked = std::unique_lock<std::mutex>;
  void make_ready(const node_ptr& node);
  void complete(const node_ptr& node);
  void run(locked& hold, const node_ptr& node);
  bool run_one(locked& hold);
  /// Somebody who is not here runs what is ready.
  void hand_on();
  void need_worker();
  void work_alone();

  const surroundings outside_;
  std::mutex lock_;
  std::condition_variable changed_, worker_wanted_;
  std::deque<node_ptr> ready_, host_calls_;
  std::size_t waiting_ = 0;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace troupe
