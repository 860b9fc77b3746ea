// The C interface in processes of their own: one connection a process, forked children, a runner
// that goes away.
#include "interpose/client/troupe_client.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fake_port.hpp"

using namespace troupe;

namespace {

/// Forks a process that runs the program as rank 3 of the port's run; its exit status is the
/// program's value.
class rank_process {
 public:
  rank_process(const fake_port& port, int (*program)()) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::setenv("TROUPE_SOCKET", port.socket_name().c_str(), 1);
    ::setenv("RANK", "3", 1);
    ::_exit(program());
  }
  int exit_status() const {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    INFO("wait status " << status);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// The line of the first check that does not hold is the exit status.
#define CHILD_CHECK(condition) \
  if (!(condition)) return __LINE__ % 200 + 10

}  // namespace

TEST_CASE("outside of a run connecting is refused politely") {
  ::unsetenv("TROUPE_SOCKET");
  CHECK(troupe_connect() == static_cast<int>(errc::usage));
  CHECK(std::string(troupe_error()).find("TROUPE_SOCKET") == 0);
  CHECK(troupe_connected() == 0);
  CHECK(troupe_wait(1, 0) == static_cast<int>(errc::usage));
}

TEST_CASE("a rank's process: connect, a call, a forked child that is not the rank, leave") {
  fake_port port;
  rank_process rank(port, [] {
    CHILD_CHECK(troupe_connect() == 0);
    CHILD_CHECK(troupe_connect() == 0);  // once more: nothing to do
    CHILD_CHECK(troupe_connected() && troupe_rank() == 3 && troupe_world() == 2);
    CHILD_CHECK(static_cast<rank_page*>(troupe_rank_page())->holds_slot == 1);
    CHILD_CHECK(std::getenv("TROUPE_RANK_PID") == std::to_string(::getpid()));
    const pid_t child = ::fork();
    if (child == 0) {
      if (troupe_connected()) ::_exit(1);
      if (troupe_connect() != static_cast<int>(errc::usage)) ::_exit(2);
      if (troupe_yield() != static_cast<int>(errc::usage)) ::_exit(3);
      std::exit(0);  // thread-local and static objects are destroyed: nothing of ours may hang
    }
    int status = -1;
    CHILD_CHECK(::waitpid(child, &status, 0) == child);
    CHILD_CHECK(status == 0);
    const std::uint32_t members[] = {3, 0};
    std::uint64_t communicator = 0;
    CHILD_CHECK(troupe_open_communicator(members, 2, 0, "world", &communicator) == 0);
    const std::uint32_t others[] = {0, 1};
    CHILD_CHECK(troupe_open_communicator(others, 2, 0, "x", &communicator)
                == static_cast<int>(errc::usage));
    char text[] = "abcd";
    const troupe_call call{0, 8, 1, 0, 4, 0, 0, nullptr, nullptr};
    const troupe_input in{text, 4};
    const troupe_output out{text, 4};
    CHILD_CHECK(
        troupe_issue(communicator, &call, &in, 1, &out, 1, "a.py:1 in f", nullptr, nullptr, nullptr)
        == 0);
    CHILD_CHECK(std::strcmp(text, "wxyz") == 0);
    void* value = nullptr;
    std::uint64_t size = 0;
    CHILD_CHECK(troupe_store_get("key", 0, &value, &size) == 0);
    CHILD_CHECK(size == 2 && std::memcmp(value, "ok", 2) == 0);
    std::free(value);
    troupe_leave();
    CHILD_CHECK(!troupe_connected());
    CHILD_CHECK(troupe_yield() == static_cast<int>(errc::usage));
    return 0;
  });
  const auto hello = port.accept_rank();
  CHECK(hello.rank == rank_id{3});
  CHECK(hello.pid == rank.pid());
  CHECK(port.expect<to_troupe::open_communicator>().members == std::vector<rank_id>{{3}, {0}});
  CHECK(port.expect<to_troupe::call_site>().text == "a.py:1 in f");
  const auto issue = port.expect<to_troupe::issue>();
  CHECK(issue.call.op == operation::all_reduce);
  CHECK(issue.call.type == element_type::u8);
  port.expect<to_troupe::blocked>();
  port.complete(issue.operation, {bytes_from("wxyz")});
  port.expect<to_troupe::awaited>();
  const auto get = port.expect<to_troupe::store>();
  port.expect<to_troupe::blocked>();
  port.send(to_rank::stored{get.operation, {}, {bytes_from("ok"), 0}});
  port.expect<to_troupe::leave>();
  CHECK(rank.exit_status() == 0);
  CHECK(port.closed());
}

TEST_CASE("a process whose runner is gone ends with status 70") {
  fake_port port;
  rank_process rank(port, [] {
    if (troupe_connect() != 0) return 1;
    return troupe_yield();
  });
  port.accept_rank();
  port.expect<to_troupe::yielded>();
  port.hang_up();
  CHECK(rank.exit_status() == 70);
}

TEST_CASE("a program that closes the socket to its runner is told that it did") {
  static int errors[2];
  REQUIRE(::pipe2(errors, O_CLOEXEC) == 0);
  fake_port port;
  rank_process rank(port, [] {
    ::dup2(errors[1], STDERR_FILENO);
    if (troupe_connect() != 0) return 1;
    for (int number = 3; number < 1024; ++number) ::close(number);
    return troupe_yield();
  });
  ::close(errors[1]);
  port.accept_rank();
  CHECK(rank.exit_status() == 70);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(errors[0], text.data(), 4096), 0)));
  ::close(errors[0]);
  CHECK(text.find("troupe: this rank ends: the program closed a descriptor") == 0);
}

TEST_CASE("a launcher's reports are control frames") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(troupe_report_started(ends[1], 2, 77) == 0);
  CHECK(troupe_report_ended(ends[1], 2, 77, 9, 11, 13) == 0);
  CHECK(troupe_report_failed(ends[1], static_cast<int>(errc::no_resources), "no process") == 0);
  ::close(ends[1]);
  std::vector<std::uint8_t> bytes(4096);
  bytes.resize(static_cast<std::size_t>(::read(ends[0], bytes.data(), bytes.size())));
  ::close(ends[0]);
  frame_splitter splitter;
  splitter.feed(bytes);
  auto next = [&] {
    auto frame = splitter.next();
    REQUIRE((frame && *frame));
    auto decoded = decode_from_launcher(**frame);
    REQUIRE(decoded);
    return *decoded;
  };
  CHECK(std::get<from_launcher::started>(next()).pid == 77);
  const auto ended = std::get<from_launcher::ended>(next());
  CHECK((ended.rank == rank_id{2} && ended.wait_status == 9 && ended.cpu_ns == 11
         && ended.peak_bytes == 13));
  const auto failed = std::get<from_launcher::failed>(next());
  CHECK((failed.why.code == errc::no_resources && failed.why.context == "no process"));
}
