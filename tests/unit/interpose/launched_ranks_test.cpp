// Who is which rank and how each ended, from what real processes say and leave behind.
#include "interpose/launch/launched_ranks.hpp"

#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

using frames = std::vector<from_launcher::frame>;

void say(const std::string& socket_name, const troupe_rank_notice& notice) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const descriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
  ::sendto(socket.get(), &notice, sizeof notice, 0, reinterpret_cast<sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size()));
}

/// A child that says that it is the rank, and then ends by itself or by a signal.
pid_t start_rank(const launched_ranks& ranks, std::uint32_t rank, int status, int signal = 0) {
  const pid_t child = ::fork();
  if (child == 0) {
    say(ranks.socket_name(), {troupe_notice_of_rank, ::getpid(), rank, 0, 0, 0});
    say(ranks.socket_name(), {troupe_notice_of_leave, ::getpid(), 0, 0, 0, 4096});
    if (signal) ::raise(signal);
    ::_exit(status);
  }
  return child;
}

/// Reads until `count` frames are there and nothing more is to be read; the child stays a zombie.
frames read(launched_ranks& ranks, launched_ranks::moment now, std::size_t count, pid_t child) {
  siginfo_t ended;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  frames all;
  pollfd readable{ranks.readable(), POLLIN, 0};
  while (all.size() < count || ::poll(&readable, 1, 0) == 1) {
    REQUIRE(::poll(&readable, 1, 60'000) == 1);
    for (auto& frame : ranks.read(now)) all.push_back(frame);
  }
  return all;
}

const launched_ranks::moment start{1000s};

}  // namespace

TEST_CASE("a rank's end is what its parent says") {
  auto ranks = launched_ranks::open(3);
  REQUIRE(ranks);
  const auto child = start_rank(*ranks, 2, 0);
  auto found = read(*ranks, start, 1, child);
  REQUIRE(found.size() == 1);
  const auto* begun = std::get_if<from_launcher::started>(&found[0]);
  REQUIRE(begun);
  CHECK(begun->rank.value == 2);
  CHECK(begun->pid == child);
  CHECK(ranks->seen() == 1);
  say(ranks->socket_name(), {troupe_notice_of_end, child, 0, 3 << 8, 77, 88});
  found = ranks->read(start);
  REQUIRE(found.size() == 1);
  const auto* ended = std::get_if<from_launcher::ended>(&found[0]);
  REQUIRE(ended);
  CHECK(ended->rank.value == 2);
  CHECK(WEXITSTATUS(ended->wait_status) == 3);
  CHECK(ended->cpu_ns == 77);
  CHECK(ended->peak_bytes == 88);
  ::waitpid(child, nullptr, 0);
  CHECK(ranks->overdue(start + 1h).empty());
  CHECK(ranks->timeout_ms(start) == -1);
}

TEST_CASE("the end of a rank that nobody waits for is read from what it left") {
  auto ranks = launched_ranks::open(1);
  REQUIRE(ranks);
  const bool by_signal = GENERATE(false, true);
  const auto child = start_rank(*ranks, 0, 9, by_signal ? SIGUSR1 : 0);
  read(*ranks, start, 1, child);
  CHECK(ranks->alive().empty());
  CHECK(ranks->overdue(start).empty());
  CHECK(ranks->timeout_ms(start) > 0);
  const auto found = ranks->overdue(start + launched_ranks::patience);
  ::waitpid(child, nullptr, 0);
  REQUIRE(found.size() == 1);
  const auto* ended = std::get_if<from_launcher::ended>(&found[0]);
  REQUIRE(ended);
  if (by_signal) {
    CHECK(WTERMSIG(ended->wait_status) == SIGUSR1);
  } else {
    CHECK(WEXITSTATUS(ended->wait_status) == 9);
  }
  CHECK(ended->peak_bytes == 4096);
}

TEST_CASE("an end that nobody tells of is an error, after a while") {
  auto ranks = launched_ranks::open(1);
  REQUIRE(ranks);
  const auto child = start_rank(*ranks, 0, 0);
  read(*ranks, start, 1, child);
  ::waitpid(child, nullptr, 0);
  CHECK(ranks->overdue(start + launched_ranks::patience).empty());
  const auto found =
      ranks->overdue(start + launched_ranks::parents_patience + launched_ranks::patience);
  REQUIRE(found.size() == 2);
  const auto* failed = std::get_if<from_launcher::failed>(&found[0]);
  REQUIRE(failed);
  CHECK(failed->why.code == errc::lost_rank);
  CHECK(failed->why.context.find("rank 0") != std::string::npos);
}

TEST_CASE("nobody speaks for another process, for a second process of a rank or for no rank") {
  auto ranks = launched_ranks::open(1);
  REQUIRE(ranks);
  say(ranks->socket_name(), {troupe_notice_of_rank, ::getppid(), 0, 0, 0, 0});
  say(ranks->socket_name(), {troupe_notice_of_rank, ::getpid(), 1, 0, 0, 0});
  say(ranks->socket_name(), {troupe_notice_of_end, ::getpid(), 0, 0, 0, 0});
  CHECK(ranks->read(start).empty());
  say(ranks->socket_name(), {troupe_notice_of_rank, ::getpid(), 0, 0, 0, 0});
  CHECK(ranks->read(start).size() == 1);
  const auto child = start_rank(*ranks, 0, 0);
  CHECK(read(*ranks, start, 0, child).empty());
  ::waitpid(child, nullptr, 0);
  CHECK(ranks->alive() == std::vector<pid_t>{::getpid()});
}
