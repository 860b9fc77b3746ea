#include "tools/output_relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe {
namespace {

/// 0, or why not all could be written.
int write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const auto n = ::write(descriptor, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // somebody made our standard output non-blocking
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (n < 0) return errno;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

class output_relay::implementation {
 public:
  implementation(std::vector<source> sources, bool lines, std::function<void()> before_write)
      : sources_(std::move(sources)),
        partial_(sources_.size()),
        lines_(lines),
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
    finish();
    ::close(poller_);
  }

  bool finish() {
    if (thread_.joinable()) thread_.join();
    return !lost_;
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "troupe-output");
    open_ = sources_.size();
    std::array<epoll_event, 64> events;
    while (open_ > 0) {
      const int n = ::epoll_wait(poller_, events.data(), events.size(), -1);
      for (int k = 0; k < n; ++k) read_some(events[static_cast<std::size_t>(k)].data.u64);
    }
  }

  void read_some(std::size_t which) {
    if (sources_[which].descriptor < 0) return;  // closed for another event of this round
    char buffer[16 * 1024];
    const auto n = ::read(sources_[which].descriptor, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    auto& partial = partial_[which];
    if (n <= 0) {
      std::string last;
      if (!partial.empty()) add_line(last, which, std::exchange(partial, {}));
      close_source(which);
      return pass_on(which, last);
    }
    const auto got = static_cast<std::size_t>(n);
    if (!lines_) return pass_on(which, {buffer, got});
    partial.append(buffer, got);
    std::string lines;
    std::size_t begin = 0;
    for (std::size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
      add_line(lines, which, std::string_view{partial}.substr(begin, end - begin));
    partial.erase(0, begin);
    if (partial.size() > line_bytes_max) add_line(lines, which, std::exchange(partial, {}));
    pass_on(which, lines);
  }

  void add_line(std::string& lines, std::size_t which, std::string_view line) {
    lines += sources_[which].prefix;
    lines += line;
    lines += '\n';
  }

  void pass_on(std::size_t which, std::string_view text) {
    if (text.empty()) return;
    if (before_write_) before_write_();
    const int target = sources_[which].target;
    const int failed = write_all(target, text.data(), text.size());
    if (failed != 0 && failed != EBADF) give_up(target, failed);  // EBADF: closed from the start
  }

  /// Whoever writes there is told as without us: by a broken pipe.
  void give_up(int target, int why) {
    bool told = false;
    const bool reader_went = why == EPIPE;
    if (!reader_went) lost_ = true;
    for (std::size_t n = 0; n < sources_.size(); ++n)
      if (sources_[n].target == target && sources_[n].descriptor >= 0) {
        close_source(n);
        told = true;
      }
    if (told || !reader_went)
      std::fprintf(stderr, "troupe: standard %s cannot be written (%s)%s\n",
                   target == STDERR_FILENO ? "error" : "output", std::strerror(why),
                   told ? ": ranks find it closed" : "");
  }

  void close_source(std::size_t which) {
    ::close(std::exchange(sources_[which].descriptor, -1));  // leaves the poller with it
    --open_;
  }

  std::vector<source> sources_;
  std::vector<std::string> partial_;
  bool lines_;
  std::function<void()> before_write_;
  int poller_;
  std::size_t open_ = 0;
  bool lost_ = false;
  std::thread thread_;
};

output_relay::output_relay(std::vector<source> sources, bool lines,
                           std::function<void()> before_write)
    : implementation_(
        std::make_unique<implementation>(std::move(sources), lines, std::move(before_write))) {}

output_relay::~output_relay() = default;

bool output_relay::finish() { return implementation_->finish(); }

}  // namespace troupe
