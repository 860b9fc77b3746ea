#include "launched_run.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace troupe {
namespace {

constexpr int patience_ms = 60'000;  // a machine may be busy; nothing here needs a second

launcher start(std::vector<std::string> command, std::uint32_t world,
               std::vector<std::pair<std::string, std::string>> environment) {
  auto started =
      launcher::start({std::move(command), world, std::move(environment), TROUPE_LIBRARY_FOLDER});
  INFO(to_string(started ? error{} : started.error()));
  REQUIRE(started);
  return std::move(*started);
}

bool readable_within(int fd, int ms) {
  pollfd readable{fd, POLLIN, 0};
  int ready;
  do ready = ::poll(&readable, 1, ms);
  while (ready < 0 && errno == EINTR);
  return ready == 1;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    REQUIRE(readable_within(fd, patience_ms));
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  return text[text.rfind(')') + 2] != 'Z';
}

bool goes_away(pid_t pid) {
  for (int ms = patience_ms; ms > 0 && is_alive(pid); ms -= 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !is_alive(pid);
}

scratch_folder::scratch_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()));
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string scratch_folder::file(const std::string& name, const std::string& text, int mode) const {
  const auto path = path_ + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0);
  return path;
}

launched_run::launched_run(std::vector<std::string> command, std::uint32_t world,
                           std::vector<std::pair<std::string, std::string>> environment)
    : started(start(std::move(command), world, std::move(environment))) {
  REQUIRE(started.outputs.size() == world);
}

launched_run::~launched_run() {
  for (const auto& pipes : started.outputs) {
    ::close(pipes.standard_output);
    ::close(pipes.standard_error);
  }
}

from_launcher::frame launched_run::next() {
  for (;;) {
    auto bytes = frames_.next();
    REQUIRE(bytes);
    if (*bytes) {
      auto frame = decode_from_launcher(**bytes);
      REQUIRE(frame);
      if (auto* begun = std::get_if<from_launcher::started>(&*frame))
        pids[begun->rank.value] = begun->pid;
      if (auto* ended = std::get_if<from_launcher::ended>(&*frame))
        ends[ended->rank.value] = *ended;
      if (auto* failed = std::get_if<from_launcher::failed>(&*frame))
        failures.push_back(failed->why);
      return *frame;
    }
    std::uint8_t buffer[4096];
    REQUIRE(readable_within(started.control(), patience_ms));
    const auto got = ::recv(started.control(), buffer, sizeof buffer, 0);
    REQUIRE(got > 0);
    frames_.feed({buffer, static_cast<std::size_t>(got)});
  }
}

void launched_run::await_ends() {
  while (ends.size() < started.outputs.size() && failures.empty()) next();
}

void launched_run::send(const to_launcher::frame& frame) {
  const auto bytes = encode(frame);
  REQUIRE(::send(started.control(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
          == static_cast<ssize_t>(bytes.size()));
}

std::string launched_run::line_of(std::uint32_t rank) {
  std::string line;
  for (char byte;;) {
    REQUIRE(readable_within(started.outputs[rank].standard_output, patience_ms));
    REQUIRE(::read(started.outputs[rank].standard_output, &byte, 1) == 1);
    if (byte == '\n') return line;
    line += byte;
  }
}

std::string launched_run::output_of(std::uint32_t rank) {
  return read_all(started.outputs[rank].standard_output);
}

std::string launched_run::errors_of(std::uint32_t rank) {
  return read_all(started.outputs[rank].standard_error);
}

}  // namespace troupe
