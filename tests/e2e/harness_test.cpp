// harness: the checks of the other files see what they are there for.

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::VectorContains;

TEST_CASE("a command's streams, status, signal, folder and environment arrive") {
  const auto ended =
      run({"sh", "-c", "cat; pwd >&2; echo $GREETING; exit 7"},
          {.environment = {{"GREETING", "hello"}}, .folder = "/proc", .input = "from outside\n"});
  CHECK(ended.status == 7);
  CHECK(ended.out == "from outside\nhello\n");
  CHECK(ended.err == "/proc\n");
  CHECK(run({"sh", "-c", "kill -TERM $$"}).status == 128 + 15);
  CHECK(run({"/nowhere/at/all"}).status == 127);
}

TEST_CASE("a command that outlasts its time is ended and told of") {
  const auto ended = run({"sleep", "100"}, {.timeout = 200ms});
  CHECK(ended.timed_out);
  CHECK(ended.status == 128 + 9);
}

TEST_CASE("a process that outlives its parent is a leftover") {
  const leftovers left;
  command running({"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &"});
  CHECK(running.wait().status == 0);
  const auto found = left.found(200ms);
  CHECK(std::count_if(found.begin(), found.end(),
                      [](const std::string& each) {
                        return each.starts_with("process ")
                               && each.find("sleep 1000") != std::string::npos;
                      })
        == 1);
  for (const auto& process : descendants()) kill(process.pid, SIGKILL);
  CHECK(left.found().empty());
}

TEST_CASE("an abstract socket and a file in shared memory are leftovers") {
  const leftovers left;
  const auto name = "/dev/shm/troupe-" + std::to_string(getpid()) + "-harness";
  std::ofstream(name) << "x";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto socket_name =
      "troupe-" + std::to_string(getpid()) + "-harness";  // as a runner names its own
  std::memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size());
  REQUIRE(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  const auto found = left.found(200ms);
  unlink(name.c_str());
  close(descriptor);
  CHECK_THAT(found, VectorContains("socket @" + socket_name) && VectorContains("file " + name));
  CHECK(left.found().empty());
}

}  // namespace
}  // namespace troupe::e2e
