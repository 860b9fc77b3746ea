#include "tools/launch_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <caf/send.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <variant>

#include "messages/wire_codec.hpp"

namespace troupe {

class launch_link::implementation {
 public:
  explicit implementation(int control) : control_(control), wake_(::eventfd(0, EFD_CLOEXEC)) {
    sigset_t signals;
    sigemptyset(&signals);
    for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~implementation() {
    stop();
    ::close(wake_);
    ::close(signals_);
  }

  void start(coordinator_actor coordinator) {
    coordinator_ = std::move(coordinator);
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      [[maybe_unused]] auto n = ::write(wake_, &one, sizeof one);
      thread_.join();
    }
    coordinator_ = nullptr;
  }
  void send(const to_launcher::frame& frame) {
    const auto bytes = encode(frame);
    [[maybe_unused]] auto n = ::send(control_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "troupe-launch");
    bool open = true;
    for (;;) {
      pollfd ready[3] = {{wake_, POLLIN, 0}, {signals_, POLLIN, 0}, {control_, POLLIN, 0}};
      ::poll(ready, open ? 3 : 2, -1);
      if (ready[0].revents) return;
      if (ready[1].revents) {
        signalfd_siginfo got;
        while (::read(signals_, &got, sizeof got) == sizeof got)
          caf::anon_send(coordinator_, interrupt_run{});
      }
      if (open && ready[2].revents && !read_control()) {
        open = false;
        caf::anon_send(coordinator_, from_launcher::failed{
                                         {errc::lost_rank, "the launcher of the ranks is gone"}});
      }
    }
  }

  bool read_control() {
    std::uint8_t buffer[16 * 1024];
    const auto n = ::read(control_, buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) return false;
    frames_.feed({buffer, static_cast<std::size_t>(n)});
    for (;;) {
      auto bytes = frames_.next();
      if (!bytes) return false;
      if (!*bytes) return true;
      auto frame = decode_from_launcher(**bytes);
      if (!frame) return false;
      std::visit([this](const auto& what) { caf::anon_send(coordinator_, what); }, *frame);
    }
  }

  int control_, wake_, signals_ = -1;
  coordinator_actor coordinator_;
  frame_splitter frames_;
  std::thread thread_;
};

launch_link::launch_link(int control)
    : implementation_(std::make_unique<implementation>(control)) {}
launch_link::~launch_link() = default;
void launch_link::start(coordinator_actor coordinator) {
  implementation_->start(std::move(coordinator));
}
void launch_link::stop() { implementation_->stop(); }
void launch_link::signal_all(std::int32_t number) {
  implementation_->send(to_launcher::signal{number});
}
void launch_link::end() { implementation_->send(to_launcher::end{}); }

}  // namespace troupe
