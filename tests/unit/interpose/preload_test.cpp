// libtroupe_preload.so in processes that do not know of it.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "fake_port.hpp"

using namespace troupe;

namespace {

pid_t start_preloaded(const char* program, const std::string& socket_name, int standard_error,
                      const char* word = "/") {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setenv("LD_PRELOAD", TROUPE_PRELOAD_LIBRARY, 1);
  ::setenv("TROUPE_SOCKET", socket_name.c_str(), 1);
  ::setenv("RANK", "0", 1);
  if (standard_error >= 0) {
    ::dup2(standard_error, 1);
    ::dup2(standard_error, 2);
  }
  ::execl(program, program, word, nullptr);
  ::_exit(127);
}

int wait_status(pid_t pid) {
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

}  // namespace

TEST_CASE("a program's sleeps, and waits for futures, threads and descriptors give the slot up") {
  fake_port port;
  const auto pid = start_preloaded(TROUPE_BLOCKING_PROGRAM, port.socket_name(), -1);
  port.accept_rank();
  port.expect<to_troupe::mark>();
  for (int sleeps = 0; sleeps < 4; ++sleeps) {  // usleep, nanosleep, clock_nanosleep, sleep
    const auto blocked = port.expect<to_troupe::blocked>();
    CHECK(blocked.reason == release_reason::sleeping);
    CHECK(blocked.operations.empty());
    port.holds_slot() = 0;
    port.expect<to_troupe::take_slot>();
    port.grant();
  }
  port.expect<to_troupe::open_communicator>();
  const auto issue = port.expect<to_troupe::issue>();
  CHECK(port.expect<to_troupe::future_taken>().operation == issue.operation);
  CHECK(port.expect<to_troupe::blocked>().operations == std::vector{issue.operation});
  port.complete(issue.operation);

  const auto of_thread = port.expect<to_troupe::issue>();
  const auto blocked = port.expect<to_troupe::blocked>();
  CHECK(blocked.operations == std::vector{of_thread.operation});
  CHECK(blocked.threads.size() == 3);  // both, and the client's own
  port.complete(of_thread.operation);
  CHECK(port.expect<to_troupe::awaited>().operations == std::vector{of_thread.operation});

  const auto of_callback = port.expect<to_troupe::issue>();
  CHECK(port.expect<to_troupe::future_taken>().operation == of_callback.operation);
  CHECK(port.expect<to_troupe::blocked>().operations == std::vector{of_callback.operation});
  port.complete(of_callback.operation);

  for (int sleeps = 0; sleeps < 3; ++sleeps) {  // poll, select, sem_timedwait
    const auto slept = port.expect<to_troupe::blocked>();
    CHECK(slept.reason == release_reason::sleeping);
    port.holds_slot() = 0;
    port.expect<to_troupe::take_slot>();
    port.grant();
  }
  port.expect<to_troupe::leave>();
  CHECK(wait_status(pid) == 0);
}

TEST_CASE("a process of MPI's that polls lets others run, another does not") {
  for (const bool by_mpi : {true, false}) {
    INFO("by MPI: " << by_mpi);
    fake_port port;
    by_mpi ? ::setenv("PMI_RANK", "0", 1) : ::unsetenv("PMI_RANK");
    const auto pid = start_preloaded(TROUPE_BLOCKING_PROGRAM, port.socket_name(), -1, "polls");
    ::unsetenv("PMI_RANK");
    port.accept_rank();
    int yields = 0;
    for (bool left = false; !left;)
      for (const auto& frame : port.next_write()) {
        left = std::holds_alternative<to_troupe::leave>(frame);
        if (!std::holds_alternative<to_troupe::yielded>(frame)) continue;
        ++yields;
        port.grant();
      }
    CHECK((by_mpi ? yields > 20 : yields == 0));
    CHECK(wait_status(pid) == 0);
  }
}

TEST_CASE("a process that never connects does not notice") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto pid = start_preloaded("/bin/ls", "", ends[1]);
  ::close(ends[1]);
  std::string output(65536, '\0');
  const auto got = ::read(ends[0], output.data(), output.size());
  ::close(ends[0]);
  REQUIRE(got > 0);
  output.resize(static_cast<std::size_t>(got));
  CHECK(wait_status(pid) == 0);
  CHECK(output.find("bin\n") != std::string::npos);
  CHECK(output.find("ld.so") == std::string::npos);
}
