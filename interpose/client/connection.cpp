#include "interpose/client/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t pools_max = 8;
constexpr auto greeting_patience = std::chrono::minutes(2);

error gone(const char* what) {
  if (errno == EBADF || errno == ENOTSOCK)
    return {errc::lost_rank,
            std::string("the program closed a descriptor that is not its own: the socket to the "
                        "runner (")
                + what + ": " + std::strerror(errno) + ")"};
  return {errc::lost_rank,
          std::string("the runner is gone (") + what + ": " + std::strerror(errno) + ")"};
}

/// Readable before the moment? Errors count as readable: the read will tell.
///
/// Who sleeps in recv is woken whenever the runner has read what this rank sent, since room to send
/// has come; poll wakes for what it was asked to.
bool poll_until(int fd, moment until) {
  for (;;) {
    timespec timeout{};
    if (until != never) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
          until - std::chrono::steady_clock::now());
      const auto ns = std::max<std::int64_t>(left.count(), 0);
      timeout = {ns / 1'000'000'000, ns % 1'000'000'000};
    }
    pollfd readable{fd, POLLIN, 0};
    const int ready = ::ppoll(&readable, 1, until == never ? nullptr : &timeout, nullptr);
    if (ready == 0) return false;
    if (ready > 0 || errno != EINTR) return true;
  }
}

/// recvmsg that also collects descriptors; repeats on EINTR.
ssize_t receive_with_descriptors(int fd, std::vector<std::uint8_t>& buffer,
                                 std::vector<descriptor>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * pools_max)];
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0) return got;
  for (auto* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
      int received;
      std::memcpy(&received, CMSG_DATA(head) + at, sizeof received);
      descriptors.emplace_back(received);
    }
  }
  return got;
}

}  // namespace

connection::connection(descriptor socket) : socket_(std::move(socket)), buffer_(read_bytes) {}

result<connection> connection::open(std::string_view socket_name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_name.empty() || socket_name.size() + 1 > sizeof address.sun_path)
    return error{errc::usage, "TROUPE_SOCKET is not a socket's name: " + std::string(socket_name)};
  std::memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size());
  descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!socket) return error{errc::no_resources, std::string("no socket: ") + std::strerror(errno)};
  int connected;
  do connected = ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length);
  while (connected != 0 && errno == EINTR);
  if (connected != 0 && errno != EISCONN)
    return error{errc::lost_rank, "no runner at TROUPE_SOCKET " + std::string(socket_name) + ": "
                                      + std::strerror(errno)};
  return connection{std::move(socket)};
}

result<connection::greeting> connection::greet(const to_troupe::hello& hello) {
  const auto words = encode(to_troupe::frame{hello});
  if (auto sent = send(words); !sent) return sent.error();
  std::vector<descriptor> descriptors;
  const auto until = std::chrono::steady_clock::now() + greeting_patience;
  for (;;) {
    if (!poll_until(socket_.get(), until))
      return error{errc::lost_rank, "the runner does not answer a rank's hello"};
    const auto got = receive_with_descriptors(socket_.get(), buffer_, descriptors);
    if (got < 0) return gone("hello");
    if (got == 0) return error{errc::lost_rank, "the runner is gone (it closed on hello)"};
    splitter_.feed({buffer_.data(), static_cast<std::size_t>(got)});
    TROUPE_TRY(bytes, splitter_.next());
    if (!bytes) continue;
    TROUPE_TRY(answer, decode_to_rank(*bytes));
    if (auto* refused = std::get_if<to_rank::refused>(&answer))
      return error{errc::usage, "the runner refused this rank: " + refused->text};
    auto* welcome = std::get_if<to_rank::welcome>(&answer);
    if (!welcome) return error{errc::bad_input, "the runner's first frame is not a welcome"};
    if (descriptors.size() != welcome->pool_sizes.size())
      return error{errc::bad_input, "the welcome names "
                                        + std::to_string(welcome->pool_sizes.size())
                                        + " pools and carries " + std::to_string(descriptors.size())
                                        + " descriptors"};
    return greeting{std::move(*welcome), std::move(descriptors)};
  }
}

result<void> connection::send(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno != EINTR)
      return gone("send");
  }
  return {};
}

result<void> connection::receive(std::vector<to_rank::frame>& frames, moment until) {
  if (auto taken = take_frames(frames); !taken || !frames.empty()) return taken;
  if (!poll_until(socket_.get(), until)) return {};
  ssize_t got;
  do got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) return gone("receive");
  if (got == 0) return error{errc::lost_rank, "the runner is gone"};
  splitter_.feed({buffer_.data(), static_cast<std::size_t>(got)});
  return take_frames(frames);
}

result<void> connection::take_frames(std::vector<to_rank::frame>& frames) {
  for (;;) {
    TROUPE_TRY(bytes, splitter_.next());
    if (!bytes) return {};
    TROUPE_TRY(frame, decode_to_rank(*bytes));
    frames.push_back(std::move(frame));
  }
}

void connection::shut_down() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace troupe
