#include "actors/rank_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <caf/send.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "actors/socket_connection.hpp"

namespace troupe {
namespace {

/// About twice what it takes a sleeping core to run again.
constexpr nanos spin_max = std::chrono::microseconds{100};

/// Are a process' numbers of threads those that we see?
bool shares_numbers(std::int32_t pid) {
  struct stat ours, theirs;
  return ::stat("/proc/self/ns/pid", &ours) == 0
         && ::stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &theirs) == 0
         && ours.st_ino == theirs.st_ino;
}

class epoll_listener final : public rank_listener, private event_source {
 public:
  epoll_listener(std::string name, int socket, int poller, std::uint32_t world)
      : name_(std::move(name)), socket_(socket), poller_(poller), ports_(world) {
    watch(socket_);
  }
  ~epoll_listener() override {
    stop();
    for (int descriptor : {socket_, poller_}) ::close(descriptor);
  }

  const std::string& name() const override { return name_; }
  void introduce(rank_id rank, rank_port_actor port) override {
    ports_[rank.value] = std::move(port);
  }
  void start(wall_scheduler& scheduler, std::function<bool()> core_is_idle) override {
    scheduler_ = &scheduler;
    core_is_idle_ = std::move(core_is_idle);
    scheduler.watch(this);
  }
  void stop() override {
    if (scheduler_) std::exchange(scheduler_, nullptr)->watch(nullptr);
    connections_.clear();
    ports_.clear();
  }

 private:
  void watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    ::epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event);
  }

  int descriptor() const override { return poller_; }

  nanos spin() const override { return core_is_idle_() ? spin_max : nanos{0}; }

  void serve() override {
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(poller_, events.data(), events.size(), 0);
    for (int k = 0; k < n; ++k) {
      const auto& event = events[static_cast<std::size_t>(k)];
      if (event.data.fd == socket_)
        accept_all();
      else
        serve(event);
    }
  }

  void accept_all() {
    for (;;) {
      const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket < 0) return;
      ucred peer{};
      socklen_t size = sizeof peer;
      if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0
          || peer.uid != ::geteuid()) {
        ::close(socket);
        continue;
      }
      const int room = 1 << 20;
      ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
      connections_.emplace(socket, std::make_shared<socket_connection>(socket, poller_));
      watch(socket);
    }
  }

  void serve(const epoll_event& event) {
    auto found = connections_.find(event.data.fd);
    if (found == connections_.end()) return;
    auto connection = found->second;
    if (event.events & EPOLLOUT) connection->flush();
    if (!(event.events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    for (int reads = 0; reads < 4; ++reads) {  // then the others' turn
      const auto n = ::recv(connection->socket(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) return drop(connection, {errc::lost_rank, "the process closed its connection"});
      connection->incoming.feed({buffer_.data(), static_cast<std::size_t>(n)});
      if (auto good = hand_over(connection); !good) return drop(connection, good.error());
      if (static_cast<std::size_t>(n) < buffer_.size()) return;
    }
  }

  result<void> hand_over(const std::shared_ptr<socket_connection>& connection) {
    auto frames = std::make_shared<std::vector<to_troupe::frame>>();
    for (;;) {
      TROUPE_TRY(bytes, connection->incoming.next());
      if (!bytes) break;
      TROUPE_TRY(frame, decode_to_troupe(*bytes));
      if (connection->introduced) {
        frames->push_back(std::move(frame));
        continue;
      }
      auto* hello = std::get_if<to_troupe::hello>(&frame);
      if (!hello) return error{errc::bad_input, "a connection's first frame must be hello"};
      if (auto known = greet(connection, *hello); !known) {
        connection->send(to_rank::refused{known.error().context});
        return known.error();
      }
    }
    if (!frames->empty())
      caf::anon_send(ports_[connection->rank.value],
                     frames_arrived{std::move(frames), connection.get()});
    return {};
  }

  result<void> greet(const std::shared_ptr<socket_connection>& connection,
                     const to_troupe::hello& hello) {
    if (hello.version != wire_version)
      return error{errc::bad_input, fmt::format("wire version {} is spoken here, not {}",
                                                wire_version, hello.version)};
    if (hello.rank.value >= ports_.size())
      return error{errc::bad_input, fmt::format("rank {} is outside the world of {}",
                                                hello.rank.value, ports_.size())};
    ucred peer{};
    socklen_t size = sizeof peer;
    ::getsockopt(connection->socket(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    connection->introduced = true;
    connection->rank = hello.rank;
    caf::anon_send(ports_[hello.rank.value],
                   rank_connected{connection, peer.pid, shares_numbers(peer.pid)});
    return {};
  }

  void drop(const std::shared_ptr<socket_connection>& connection, error why) {
    ::epoll_ctl(poller_, EPOLL_CTL_DEL, connection->socket(), nullptr);
    connections_.erase(connection->socket());
    if (connection->introduced)
      caf::anon_send(ports_[connection->rank.value],
                     connection_lost{connection.get(), std::move(why)});
  }

  std::string name_;
  int socket_, poller_;
  std::vector<rank_port_actor> ports_;
  std::unordered_map<int, std::shared_ptr<socket_connection>> connections_;
  std::array<std::uint8_t, 256 * 1024> buffer_;
  wall_scheduler* scheduler_ = nullptr;
  std::function<bool()> core_is_idle_;
};

}  // namespace

result<std::unique_ptr<rank_listener>> rank_listener::open(std::uint32_t world) {
  auto failure = [](const char* what) {
    return error{errc::no_resources,
                 fmt::format("cannot {} the ranks' socket: {}", what, std::strerror(errno))};
  };
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return failure("create");
  std::uint64_t secret = 0;
  [[maybe_unused]] auto got = ::getrandom(&secret, sizeof secret, 0);
  auto name = fmt::format("troupe-{}-{:016x}", ::getpid(), secret);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), length) < 0
      || ::listen(socket, 4096) < 0) {
    auto why = failure("bind");
    ::close(socket);
    return why;
  }
  return std::unique_ptr<rank_listener>{
      new epoll_listener(std::move(name), socket, ::epoll_create1(EPOLL_CLOEXEC), world)};
}

}  // namespace troupe
