// scripted_rank: a rank's process, played: its client library's half of the wire, and what a
// program may do with it. A program is a coroutine (script.hpp) that awaits these members.
//
// g++ 12 miscompiles a co_await whose expression holds braces with values: name them before.
// It keeps the client's rules: it runs only while it holds a slot, says `blocked` before it waits,
// takes a slot before it goes on after a sleep. Not here: the actor that drives it, time, the other
// ranks (scripted_job.cpp).
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/payload_pools.hpp"
#include "messages/units.hpp"
#include "messages/wire.hpp"
#include "tests/sim/actors/script.hpp"

namespace troupe::sim {

/// What the process needs of its surroundings.
class process_surroundings {
 public:
  virtual ~process_surroundings() = default;
  virtual nanos now() const = 0;
  virtual void send(const to_troupe::frame& frame) = 0;
  virtual void wake_after(nanos time) = 0;  ///< wake() is called then
  virtual void runs(bool running) = 0;      ///< it began or ceased to run on a slot
  virtual void ended(std::int32_t wait_status) = 0;
};

/// The answer to an operation, its pieces copied one after the other.
struct answer {
  error why;
  std::vector<std::uint8_t> bytes;
  std::int32_t source = -1;
};

class scripted_rank {
 public:
  scripted_rank(rank_id me, std::uint32_t world, payload_pools& pools,
                process_surroundings& around);

  const rank_id me;
  const std::uint32_t world;

  /// An awaitable: goes on when `over`, then gives `result`.
  template <class Result>
  struct pause {
    scripted_rank& rank;
    std::function<bool()> over;
    std::function<void()> begin;
    std::function<Result()> result;
    bool await_ready() const { return over(); }
    void await_suspend(std::coroutine_handle<>) const {
      rank.over_ = over;
      if (begin) begin();
    }
    Result await_resume() const { return result(); }
  };

  // --- what a program may do
  pause<void> compute(nanos time);
  pause<void> sleep(nanos time);  ///< says so, and gives up its slot
  pause<void> doze(nanos time);   ///< does not say so
  pause<void> yield();
  /// Ends the process: never goes on.
  pause<void> exit(std::int32_t status);
  pause<void> die(std::int32_t signal);

  /// `companion`: which of the process' ranks does it (messages/companions.hpp).
  communicator_id open(std::vector<rank_id> members, semantics rules = semantics::gloo,
                       const std::string& name = {}, companion_number companion = 0);
  communicator_id open_world(semantics rules = semantics::gloo);
  operation_id issue(communicator_id group, const collective_call& call, payload bytes = {},
                     const std::string& site = {}, companion_number companion = 0);
  bool is_done(operation_id operation) const { return answers_.contains(operation); }
  pause<answer> wait(operation_id operation);
  pause<void> wait_any(std::vector<operation_id> operations);
  pause<bool> test(operation_id operation);  ///< lets others run first when it is not done
  pause<to_rank::stored> store(store_request request);
  pause<to_rank::stored> add(const std::string& key, std::int64_t amount);
  pause<to_rank::stored> set(const std::string& key, const std::string& value);
  pause<to_rank::stored> get(const std::string& key);
  pause<to_rank::stored> wait_for(const std::string& key, nanos timeout = {});
  pause<to_rank::leased> lease(std::uint64_t size);
  void mark(std::uint8_t kind);
  /// Any frame, also one that no client sends.
  void say(const to_troupe::frame& frame) { around_.send(frame); }
  /// Bytes laid into a leased extent, as a region that is marked as posted.
  payload place(const region& extent, const std::vector<std::uint8_t>& bytes);

  // --- what befalls it
  void begin(script program);
  void receive(const to_rank::frame& frame);
  void wake();
  void kill(std::int32_t signal);

  nanos now() const { return around_.now(); }
  bool alive() const { return alive_; }
  bool asleep() const { return asleep_; }
  std::uint64_t cpu_ns() const;
  /// Regions handed in that somebody still is to read.
  std::size_t regions_busy() const;

 private:
  bool holds_page() const;
  void set_running(bool running);
  void ask_slot();
  void go_on();
  void end(std::int32_t wait_status);
  operation_id next_operation(companion_number companion = 0) {
    return operation_of(companion, ++operations_);
  }

  payload_pools& pools_;
  process_surroundings& around_;
  script program_;
  std::function<bool()> over_;
  bool begun_ = false, alive_ = true, running_ = false, asleep_ = false, granted_ = false;
  std::optional<nanos> computing_since_;
  std::uint64_t cpu_ns_ = 0, operations_ = 0;
  bool timer_due_ = true;
  std::vector<operation_id> blocked_on_;
  std::map<operation_id, answer> answers_;
  std::map<operation_id, to_rank::stored> stored_;
  std::map<operation_id, to_rank::leased> leased_;
  std::map<std::pair<companion_number, communicator_id>, std::uint64_t> sequences_;
  std::map<std::pair<companion_number, std::vector<rank_id>>, std::uint32_t> ordinals_;
  std::map<std::string, call_site_id> sites_;
  std::vector<region> regions_;
};

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& from) {
  std::vector<std::uint8_t> bytes(from.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace troupe::sim
