// conversation: what this process and its rank_port know of each other: the slot, who waits, what
// was answered.
//
// One lock guards all of it; every function that takes a `locked` wants it held and may let go of
// it while it waits.
// - One thread at a time reads the socket (whoever waits, or the reader thread once futures are
// watched); the others
//   wait to be told.
// - `blocked` is sent when no seated thread runs. The answer to any operation it named brings the
// slot back; so does
//   `granted`. User code goes on only through ensure_slot.
// - An answer's bytes are laid out and its callback runs without the lock, by whichever thread got
// to it first; only then is
//   the operation complete for those who wait.
// - Once the connection is lost every pending operation fails with why.
// Signals do not end a wait: a handler runs, then the wait goes on (a default action, as SIGTERM's,
// ends the process). Not here: what operations mean (rank_client.hpp).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "interpose/client/connection.hpp"
#include "interpose/client/mapped_pools.hpp"
#include "interpose/client/operation_table.hpp"
#include "interpose/client/outbox.hpp"
#include "interpose/client/thread_cores.hpp"
#include "interpose/client/thread_seats.hpp"
#include "interpose/client/watched_futures.hpp"

namespace troupe {

class conversation {
 public:
  using locked = std::unique_lock<std::mutex>;
  /// May callbacks of completed operations run within this wait, or are they for a later one?
  enum class callbacks { run, later };
  /// Told once, with the lock held, when the connection is lost (not after leaving in order).
  using loss_handler = std::function<void(const error&)>;

  conversation(connection socket, mapped_pools pools, rank_page* page, loss_handler on_loss);
  ~conversation();  ///< no other thread may still be inside
  conversation(const conversation&) = delete;

  locked lock() { return locked(lock_); }
  operation_table& operations() { return operations_; }
  void watch(locked&, operation_id operation, const void* from, const void* to) {
    if (auto before = futures_.add(operation, from, to)) seats_.go_on_with(*before, operation);
  }
  const watched_futures& futures() const { return futures_; }
  const mapped_pools& pools() const { return pools_; }
  /// errc::none, or why nothing works any more.
  const error& gone() const { return gone_; }

  void post(const to_troupe::frame& frame);
  void note_awaited(operation_id operation);
  void flush(locked&);
  /// Who posts without a wait in sight flushes then.
  bool has_much_to_say() const { return outbox_.is_large(); }

  /// The calling thread's seat; it has one from now until it ends.
  thread_seat& seat(locked&);
  /// Null: this thread has none. No lock is needed; what the seat says does need it.
  thread_seat* seat_if_any();
  /// Is this one of our own condition variables? No lock is needed.
  bool owns(const void* object) const { return object == &changed_; }
  /// Told that a seat changed to waiting or sleeping without an await: sends `blocked` if all are.
  void declare_if_blocked(locked&);

  /// Returns with the slot held, or gone.
  void ensure_slot(locked&, callbacks mode);
  bool lacks_slot() const;
  /// Others have their turn first. At once when another thread of this process runs and does not
  /// poll too.
  void yield_slot(locked&, callbacks mode);

  /// Waits until ready() or the moment; returns ready(). Returns early once gone and everything has
  /// failed.
  template <class Ready>
  bool await(locked& hold, moment until, callbacks mode, Ready ready) {
    for (;;) {
      settle(hold, mode);
      if (ready()) return true;
      if (gone_.code != errc::none || !step(hold, until)) return ready();
    }
  }
  /// Takes in what has come without waiting.
  void drain(locked&, callbacks mode);

  /// From now on a thread of ours reads answers as they come.
  void start_reader(locked&);
  /// Nothing follows.
  void leave(locked&);
  /// A seated thread runs again.
  void note_running(locked&) {
    cores_.go_on();
    page_->parked.store(0, std::memory_order_relaxed);
  }
  /// In a forked child, before anything else: the thread that forked has no seat, the socket is not
  /// ours.
  void abandon_in_child();

 private:
  struct arrival {
    operation_id operation;
    to_rank::completed answer;
  };
  void settle(locked&, callbacks mode);
  void lay_out(arrival& arrived, const operation_record& record);
  bool step(locked&, moment until);
  bool is_with_another_thread();
  void read(locked&, moment until);
  void handle(to_rank::frame& frame);
  operation_record* answered(operation_id operation, operation_record::kind what);
  void declare_lost_slot(locked&);
  void note_parked(locked&);
  void give_up(locked&, thread_seats::waits waits);
  void hold_slot();
  void lose(error why);
  void run_reader();
  friend struct seat_holder;

  std::mutex lock_;
  std::condition_variable changed_;
  connection socket_;
  mapped_pools pools_;
  rank_page* page_;
  loss_handler on_loss_;
  operation_table operations_;
  watched_futures futures_;
  outbox outbox_;
  thread_seats seats_;
  thread_cores cores_;
  error gone_;
  bool left_ = false;

  std::uint32_t parks_ = 0;
  bool holds_slot_ = false;
  bool slot_asked_ = false;  ///< take_slot or yielded was sent, granted has not come
  int entering_ = 0;         ///< threads in ensure_slot
  /// What the last `blocked` named, while the slot is given up.
  std::vector<operation_id> blocked_on_;

  bool reading_ = false;  ///< some thread has the reader role
  std::deque<arrival> arrivals_, laid_out_;
  std::thread reader_;
  std::int32_t reader_thread_ = 0;  ///< the kernel's number of it, once it runs
};

/// CLOCK_MONOTONIC.
std::uint64_t monotonic_ns();

}  // namespace troupe
