#include "actors/socket_connection.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "actors/rank_listener.hpp"

namespace troupe {

socket_connection::socket_connection(int socket, int poller) : socket_(socket), poller_(poller) {}

socket_connection::~socket_connection() { ::close(socket_); }

void socket_connection::want_room(bool wanted) {
  if (wanted == wants_room_) return;
  wants_room_ = wanted;
  epoll_event event{};
  event.events = EPOLLIN | (wanted ? EPOLLOUT : 0u);
  event.data.fd = socket_;
  ::epoll_ctl(poller_, EPOLL_CTL_MOD, socket_, &event);
}

void socket_connection::write(const std::vector<std::uint8_t>& bytes,
                              const std::vector<int>& descriptors) {
  if (closed_) return;
  std::size_t sent = 0;
  if (waiting_.empty()) {
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)] = {};
    if (!descriptors.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
      auto* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    }
    ssize_t n;
    do n = ::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return;  // the listener sees the end
    if (n > 0) sent = static_cast<std::size_t>(n);
  }
  if (sent == bytes.size()) return;
  waiting_.insert(waiting_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(sent), bytes.end());
  if (waiting_.size() - sent_of_waiting_ > rank_listener::queued_bytes_max) {
    ::shutdown(socket_, SHUT_RDWR);
    return;
  }
  want_room(true);
}

void socket_connection::send(const to_rank::frame& frame) { write(encode(frame), {}); }

void socket_connection::send_welcome(const to_rank::welcome& welcome,
                                     const std::vector<int>& descriptors) {
  write(encode(to_rank::frame{welcome}), descriptors);
}

void socket_connection::flush() {
  while (sent_of_waiting_ < waiting_.size()) {
    auto n = ::send(socket_, waiting_.data() + sent_of_waiting_, waiting_.size() - sent_of_waiting_,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent_of_waiting_ += static_cast<std::size_t>(n);
  }
  waiting_.clear();
  sent_of_waiting_ = 0;
  want_room(false);
}

void socket_connection::close() {
  if (!std::exchange(closed_, true))
    ::shutdown(socket_, SHUT_RDWR);  // the listener then sees its end and forgets it
}

}  // namespace troupe
