// connection: the socket between a rank's process and its rank_port: whole frames out, decoded
// frames in.
//
// One thread receives at a time; one sends at a time (the conversation's lock and reader role see
// to it). A peer that is gone is errc::lost_rank, a frame that cannot be believed errc::bad_input.
// SIGPIPE is never raised. Not here: what the frames mean (conversation.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "interpose/descriptor.hpp"
#include "messages/error.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

using moment = std::chrono::steady_clock::time_point;
constexpr moment never = moment::max();

class connection {
 public:
  struct greeting {
    to_rank::welcome terms;
    std::vector<descriptor> pools;  ///< one for each of terms.pool_sizes
  };

  /// The abstract Unix stream socket of this name (without the leading NUL).
  static result<connection> open(std::string_view socket_name);
  explicit connection(descriptor socket);

  /// Says hello and waits for the answer: at most two minutes. `refused` is errc::usage with its
  /// text.
  result<greeting> greet(const to_troupe::hello& hello);

  result<void> send(std::span<const std::uint8_t> bytes);
  /// Appends what has come; waits for something until the moment (one in the past: takes what is
  /// there).
  result<void> receive(std::vector<to_rank::frame>& frames, moment until);

  /// Ends a receive of another thread; it and every later one fail.
  void shut_down();
  /// In a forked child: drops the descriptor, the parent's connection stays.
  void close_in_child() { socket_.reset(); }

 private:
  result<void> take_frames(std::vector<to_rank::frame>& frames);

  descriptor socket_;
  frame_splitter splitter_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace troupe
