// launchers: programs that start their ranks themselves, or have them started by torchrun and the
// like: they are ranks all the same, their ends are diagnosed, and nothing of them is left.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;
using words = std::vector<std::string>;

/// Torch's launchers listen on one fixed port unless told otherwise: two at a time would meet
/// there.
std::string free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(descriptor);
  return std::to_string(ntohs(address.sin_port));
}

outcome launch(const workspace& here, words options, const words& program) {
  options.insert(options.begin(),
                 {"run", "--slots", "1", "--no-trace", "--json", here.file("report.json")});
  options.push_back("--");
  options.insert(options.end(), program.begin(), program.end());
  return here.verb(options);
}

words launched(words launcher, const words& arguments = {}) {
  launcher.push_back(test_program("torch/launched.py"));
  launcher.insert(launcher.end(), arguments.begin(), arguments.end());
  return launcher;
}

words by_torchrun(const words& arguments = {}) {
  return launched({python(), "-W", "ignore", "-m", "torch.distributed.run", "--nproc_per_node=3",
                   "--master_port=" + free_port()},
                  arguments);
}

words by_itself(const words& arguments) { return launched({python(), "-W", "ignore"}, arguments); }

/// Three ranks on one slot, each with its prefix, and a report of all of them.
void check_done(const words& options, const words& program, bool prefixed = true) {
  const workspace here;
  const leftovers left;
  const auto ended = launch(here, options, program);
  INFO(describe(ended));
  CHECK(ended.status == 0);
  for (const std::string rank : {"0", "1", "2"})
    CHECK_THAT(ended.out, Contains((prefixed ? "[" + rank + "] " : "") + "rank " + rank
                                   + " of 3 has the sum\n"));
  const auto report = here.report();
  REQUIRE(report);
  CHECK(report->at("outcome") == "done");
  REQUIRE(report->at("ranks").size() == 3);
  for (const auto& rank : report->at("ranks")) {
    CHECK(rank.at("exit") == 0);
    CHECK(rank.at("cpu_ns") > 0);
    CHECK(rank.at("peak_bytes") > 10'000'000);
  }
  CHECK(left.found() == words{});
}

void check_misfortune(const words& options, const words& program, const words& message,
                      const words& said = {}) {
  const workspace here;
  const leftovers left;
  const auto ended = launch(here, options, program);
  INFO(describe(ended));
  CHECK(ended.status == 1);
  REQUIRE(messages(ended).size() == 1);
  for (const auto& word : message) CHECK_THAT(messages(ended).front(), Contains(word));
  for (const auto& word : said) CHECK_THAT(ended.err, Contains(word));
  CHECK(left.found() == words{});
}

TEST_CASE("torchrun's processes are the ranks") {
  if (skipped_without_torch()) return;
  check_done({}, by_torchrun());
  check_done({"--world", "3"}, by_torchrun());
}

TEST_CASE("torch.distributed.launch's processes are the ranks") {
  if (skipped_without_torch()) return;
  check_done({}, launched({python(), "-W", "ignore", "-m", "torch.distributed.launch", "--use_env",
                           "--nproc_per_node", "3", "--master_port", free_port()}));
}

TEST_CASE("processes that a program starts are ranks once they say so") {
  if (skipped_without_torch()) return;
  for (const std::string how : {"spawn", "fork", "rendezvous"})
    check_done({"--once", "--world", "3"}, by_itself({"sum", how, "3"}));
}

TEST_CASE("mpirun's processes are the ranks") {
  if (skipped_without_torch()) return;
  check_done({},
             launched({"/usr/bin/mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3",
                       python(), "-W", "ignore"}),
             false);
}

TEST_CASE("a rank of torchrun that dies or raises is named, with how, and torchrun has its say") {
  if (skipped_without_torch()) return;
  const words said = {"Root Cause (first observed failure)"};
  check_misfortune({}, by_torchrun({"segfault"}), {"rank 1", "signal 11"}, said);
  check_misfortune({}, by_torchrun({"raise"}), {"rank 1", "status 1"}, said);
}

TEST_CASE("a launcher that stays when its ranks failed is ended") {
  if (skipped_without_torch()) return;
  const words stays = {"/bin/sh", "-c", "\"$@\"; sleep 600", "sh"};
  for (const std::string deed : {"raise", "segfault"}) {
    auto program = by_itself({deed, "fork", "3"});
    program.insert(program.begin(), stays.begin(), stays.end());
    check_misfortune({"--once", "--world", "3"}, program, {"rank 1"});
  }
}

TEST_CASE("a rank that a program started and that dies is named, with how") {
  if (skipped_without_torch()) return;
  check_misfortune({"--once", "--world", "3"}, by_itself({"segfault", "spawn", "3"}),
                   {"rank 1", "signal 11"});
  check_misfortune({"--once", "--world", "3"}, by_itself({"raise", "fork", "3"}),
                   {"rank 1", "status 1"});
}

TEST_CASE("another world than the run's is refused, whoever says it") {
  if (skipped_without_torch()) return;
  const workspace here;
  const leftovers left;
  const auto said = launch(here, {"--world", "4"}, by_torchrun());
  INFO(describe(said));
  CHECK(said.status == 2);
  CHECK_THAT(said.err, Contains("starts 3 ranks, --world says 4"));
  const auto hosts = launch(here, {"--hosts", "3"}, by_torchrun());
  CHECK(hosts.status == 2);
  CHECK_THAT(hosts.err, Contains("--hosts"));
  const auto started = launch(here, {"--once", "--world", "4"}, by_itself({"sum", "spawn", "3"}));
  INFO(describe(started));
  CHECK(started.status == 1);
  CHECK_THAT(started.err, Contains("is told of 3 ranks") && Contains("the run has 4"));
  CHECK(left.found() == words{});
}

TEST_CASE("a program that starts no ranks, or fails before it does, is told of") {
  const workspace here;
  const leftovers left;
  const auto none = launch(here, {"--once", "--world", "2"}, {"true"});
  INFO(describe(none));
  CHECK(none.status == 3);
  CHECK_THAT(none.err, Contains("0 of 2 ranks"));
  const auto failed = launch(here, {"--once", "--world", "2"}, {"sh", "-c", "exit 7"});
  INFO(describe(failed));
  CHECK(failed.status == 1);
  CHECK_THAT(failed.err, Contains("status 7"));
  CHECK(left.found() == words{});
}

TEST_CASE("nothing that a program started outlives the run, however that ends") {
  const workspace here;
  const leftovers left;
  for (const int number : {SIGINT, SIGKILL}) {
    std::filesystem::remove(here.file("started"));
    command running(
        here.troupe({"run", "--once", "--no-trace", "--", "sh", "-c",
                     "sleep 1000 & touch " + here.file("started") + "; sleep 1000 | cat; wait"}),
        here.environment());
    REQUIRE(eventually([&] { return std::filesystem::exists(here.file("started")); }, 60s));
    running.signal(number);
    const auto ended = running.wait();
    INFO(describe(ended));
    CHECK(ended.status == (number == SIGINT ? 130 : 128 + SIGKILL));
    CHECK(eventually([&] { return left.found().empty(); }, 60s));
  }
}

}  // namespace
}  // namespace troupe::e2e
