// socket_connection: one rank's end of the wire in the runner: bytes that do not fit the socket now
// wait here.
//
// Used in the scheduler's thread only, by its port and by the listener.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/outside.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

class socket_connection final : public rank_connection {
 public:
  /// Owns the socket (non-blocking); registers for EPOLLOUT with `poller` while bytes wait.
  socket_connection(int socket, int poller);
  ~socket_connection() override;

  void send(const to_rank::frame& frame) override;
  void send_welcome(const to_rank::welcome& welcome, const std::vector<int>& descriptors) override;
  void close() override;

  /// Writes what waits. The listener's, on EPOLLOUT.
  void flush();
  int socket() const { return socket_; }

  // The listener's own notes.
  frame_splitter incoming;
  bool introduced = false;
  rank_id rank;

 private:
  void write(const std::vector<std::uint8_t>& bytes, const std::vector<int>& descriptors);
  void want_room(bool wanted);

  const int socket_, poller_;
  std::vector<std::uint8_t> waiting_;
  std::size_t sent_of_waiting_ = 0;
  bool wants_room_ = false, closed_ = false;
};

}  // namespace troupe
