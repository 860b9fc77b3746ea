// rank_client: a process' calls, of its lead and of its companions (messages/companions.hpp):
// operations, slots, the key-value store, markers. Thread-safe.
//
// Posting copies the inputs (small ones into the frame, others into a region of the pools) and does
// not wait, except for a slot that was taken from this rank while it slept and for room in the
// pools. Invariant: a communicator's collectives are numbered in the order in which their frames go
// out. Not here: the C interface (troupe_client.cpp), the wire (conversation.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "interpose/client/call_site_table.hpp"
#include "interpose/client/communicator_table.hpp"
#include "interpose/client/conversation.hpp"
#include "interpose/client/region_allocator.hpp"

namespace troupe {

class rank_client {
 public:
  struct options {
    std::string socket_name;
    rank_id rank;
    std::int32_t pid{};
    conversation::loss_handler on_loss;
  };
  struct posting {
    communicator_id communicator;  ///< its handle
    collective_call call;
    std::span<const troupe_input> inputs;
    std::span<const troupe_output> outputs;
    std::string_view call_site;
    troupe_done done{};
    void* argument{};
  };

  /// Says hello and takes the first slot.
  static result<std::unique_ptr<rank_client>> connect(options wanted);

  rank_id rank() const { return rank_; }
  std::uint32_t world() const { return terms_.world; }
  rank_page* page() const { return page_; }
  /// errc::none while connected.
  error gone();

  /// The handle of a communicator that this one of the process' ranks opens. Without an ordinal:
  /// the next of those with these members.
  result<communicator_id> open_communicator(std::vector<rank_id> members, semantics rules,
                                            std::string name,
                                            std::optional<std::uint32_t> ordinal = std::nullopt,
                                            companion_number companion = 0);
  result<void> abort(communicator_id communicator);
  result<std::uint32_t> size_of(communicator_id communicator);
  result<operation_id> issue(posting wanted);
  /// issue and wait as one write. The operation's own error is this one's.
  result<operation_id> issue_and_wait(posting wanted);
  result<void> wait(operation_id operation, std::uint64_t timeout_ns);
  result<bool> test(operation_id operation);
  result<void> watch_future(operation_id operation, const void* from, const void* to);
  result<void> follow(operation_id operation);
  /// True: its callback will not be called.
  result<bool> abandon(operation_id operation);
  result<void> mark(std::uint8_t kind);
  result<void> copied(std::uint64_t size, std::uint64_t duration_ns);
  result<void> yield();
  result<void> enter();
  result<store_reply> ask_store(store_request request);
  void leave();

  /// For waits that the preload library sees (interpose/preload/blocking_hooks.h, where each is
  /// described).
  std::uint64_t watched(const void* address) const;
  void future_wait_begins(operation_id operation);
  bool future_wait_ended();
  bool sleep_begins();
  void sleep_ended();
  bool park_begins(const void* object);
  bool park_ended();
  bool poll();
  void retake_slot();

  void abandon_in_child() { talk_.abandon_in_child(); }

 private:
  using locked = conversation::locked;
  rank_client(rank_id rank, to_rank::welcome terms, connection socket, mapped_pools pools,
              rank_page* page, const run_clock* clock, conversation::loss_handler on_loss);
  result<operation_id> post_issue(locked&, posting wanted);
  result<payload> place_inputs(locked&, const posting& wanted);
  result<taken_region> reserve(locked&, std::uint64_t length);
  result<void> lease_extent(locked&, std::uint64_t length);
  /// The timeout (0: none) counts in rank time.
  result<void> finish(locked&, operation_id operation, std::uint64_t timeout_ns);
  std::uint64_t rank_time_ns() const;
  result<void> outcome(operation_id operation);
  void await_answer(locked&, operation_id operation, release_reason reason, bool at_once,
                    conversation::callbacks mode);

  const rank_id rank_;
  const to_rank::welcome terms_;
  rank_page* const page_;
  const run_clock* const clock_;
  const std::uint64_t inline_limit_;
  conversation talk_;
  communicator_table communicators_;
  call_site_table call_sites_;
  region_allocator regions_;
};

}  // namespace troupe
