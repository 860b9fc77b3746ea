// fake_port: the runner's end of one rank's connection, driven step by step by a test.
//
// Whatever does not come within a minute fails the test.
#pragma once

#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "interpose/client/rank_client.hpp"
#include "interpose/descriptor.hpp"
#include "messages/region_header.hpp"
#include "messages/units.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

class fake_port {
 public:
  static constexpr std::uint64_t pool_bytes = 64 * MiB, spill_bytes = 4 * MiB;
  static constexpr std::uint32_t inline_limit = 4096;

  fake_port();
  const std::string& socket_name() const { return name_; }

  /// The first exchanges of a connection, up to the first granted.
  to_troupe::hello accept_rank();

  /// The frames that came with one read.
  std::vector<to_troupe::frame> next_write();
  template <class Frame>
  Frame expect() {
    if (inbox_.empty()) {
      auto written = next_write();
      inbox_.assign(written.begin(), written.end());
    }
    auto frame = std::move(inbox_.front());
    inbox_.pop_front();
    INFO("the frame that came is number " << frame.index());
    REQUIRE(std::holds_alternative<Frame>(frame));
    return std::get<Frame>(std::move(frame));
  }
  /// No frame has come, nor does one for so long.
  bool silent_for(std::chrono::milliseconds time);
  /// The rank closed its end.
  bool closed();

  void send(const to_rank::frame& frame);
  void grant();
  void complete(operation_id operation, std::vector<payload> pieces = {}, error why = {},
                std::int32_t source = -1);
  void hang_up() { peer_.reset(); }

  std::atomic<std::uint32_t>& holds_slot() { return page_->holds_slot; }
  std::uint32_t parked() const { return page_->parked; }
  std::span<std::byte> bytes_of(const region& where);
  region_header& header_of(const region& where);
  /// A region for a result, with so many readers; outside of what lease() gives.
  region result_region(std::string_view bytes, std::uint32_t readers);
  /// Answers a lease with the next piece of the pool.
  region give_lease(const to_troupe::lease& wanted);

 private:
  std::string name_;
  descriptor listener_, peer_, pools_[2];
  std::span<std::byte> memory_;
  rank_page* page_{};
  std::uint64_t next_result_ = 48 * MiB, next_lease_ = 64 * KiB;
  frame_splitter splitter_;
  std::deque<to_troupe::frame> inbox_;
};

/// A port and a rank_client that are connected.
struct connected_rank {
  explicit connected_rank(rank_id rank = {0});
  ~connected_rank();
  /// Runs in a thread that is the rank's; joined by the destructor or finish().
  void run(std::function<void(rank_client&)> program);
  void finish();
  communicator_id open(std::vector<rank_id> members = {{0}, {1}});

  fake_port port;
  std::unique_ptr<rank_client> client;
  std::vector<error> losses;

 private:
  std::vector<std::thread> threads_;
};

inline inline_bytes bytes_from(std::string_view text) { return {text.begin(), text.end()}; }

/// An all_reduce of u8, as long as the input.
rank_client::posting all_reduce_of(communicator_id communicator, const troupe_input& input,
                                   std::span<const troupe_output> outputs);
rank_client::posting barrier_of(communicator_id communicator);

/// Catch's assertions belong to one thread; a rank's thread notes what does not hold, finish()
/// reports it.
void note_rank_check(bool holds, const char* what, int line);
#define RANK_CHECK(...) \
  ::troupe::note_rank_check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __LINE__)

}  // namespace troupe
