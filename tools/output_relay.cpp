#include "tools/output_relay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe {
namespace {

void write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const auto n = ::write(descriptor, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // somebody made our standard output non-blocking
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (n <= 0) return;  // nobody reads any more: the ranks need not care
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

}  // namespace

class output_relay::implementation {
 public:
  implementation(std::vector<source> sources, bool prefix, std::function<void()> before_write)
      : sources_(std::move(sources)),
        partial_(sources_.size()),
        prefix_(prefix),
        before_write_(std::move(before_write)),
        poller_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t n = 0; n < sources_.size(); ++n) {
      ::fcntl(sources_[n].descriptor, F_SETFL, O_NONBLOCK);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = n;
      ::epoll_ctl(poller_, EPOLL_CTL_ADD, sources_[n].descriptor, &event);
    }
    thread_ = std::thread([this] { run(); });
  }
  ~implementation() {
    thread_.join();
    ::close(poller_);
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "troupe-output");
    std::size_t open = sources_.size();
    std::array<epoll_event, 64> events;
    while (open > 0) {
      const int n = ::epoll_wait(poller_, events.data(), events.size(), -1);
      for (int k = 0; k < n; ++k)
        if (!read_some(events[static_cast<std::size_t>(k)].data.u64)) --open;
    }
  }

  /// False once the pipe is closed.
  bool read_some(std::size_t which) {
    char buffer[16 * 1024];
    const auto n = ::read(sources_[which].descriptor, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    auto& partial = partial_[which];
    if (n <= 0) {
      if (!partial.empty()) pass_on(which, partial + "\n");
      ::close(sources_[which].descriptor);  // leaves the poller with it
      return false;
    }
    partial.append(buffer, static_cast<std::size_t>(n));
    std::string lines;
    std::size_t begin = 0;
    for (std::size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
      add_line(lines, which, std::string_view{partial}.substr(begin, end - begin));
    partial.erase(0, begin);
    if (partial.size() > line_bytes_max) add_line(lines, which, std::exchange(partial, {}));
    if (!lines.empty()) pass_on(which, lines, true);
    return true;
  }

  void add_line(std::string& lines, std::size_t which, std::string_view line) {
    if (prefix_) lines += fmt::format("[{}] ", sources_[which].rank);
    lines += line;
    lines += '\n';
  }

  void pass_on(std::size_t which, const std::string& text, bool prefixed = false) {
    if (before_write_) before_write_();
    std::string whole =
        prefixed || !prefix_ ? text : fmt::format("[{}] {}", sources_[which].rank, text);
    write_all(sources_[which].target, whole.data(), whole.size());
  }

  std::vector<source> sources_;
  std::vector<std::string> partial_;
  bool prefix_;
  std::function<void()> before_write_;
  int poller_;
  std::thread thread_;
};

output_relay::output_relay(std::vector<source> sources, bool prefix,
                           std::function<void()> before_write)
    : implementation_(
        std::make_unique<implementation>(std::move(sources), prefix, std::move(before_write))) {}

output_relay::~output_relay() = default;

}  // namespace troupe
