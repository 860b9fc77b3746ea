#include "tools/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace troupe {

progress_line::progress_line(const run_tables& tables, std::uint32_t world, bool wanted)
    : tables_(tables), world_(world) {
  if (wanted && ::isatty(STDERR_FILENO)) thread_ = std::thread([this] { run(); });
}

progress_line::~progress_line() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard held{guard_};
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  clear();
}

void progress_line::clear() {
  std::lock_guard held{guard_};
  if (!std::exchange(drawn_, false)) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void progress_line::draw() {
  const auto connected = tables_.ranks_connected.load(), running = tables_.ranks_running.load(),
             done = tables_.ranks_done.load();
  const auto live = connected > done ? connected - done : 0;
  std::fputs(
      fmt::format("\r\x1b[Ktroupe: {} of {} ranks done, {} running, {} blocked, {} collectives",
                  done, world_, running, live > running ? live - running : 0,
                  tables_.collectives.load())
          .c_str(),
      stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void progress_line::run() {
  std::unique_lock held{guard_};
  while (!wake_.wait_for(held, std::chrono::milliseconds{200}, [this] { return stopping_; }))
    draw();
}

}  // namespace troupe
