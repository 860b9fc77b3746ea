// process_end_test: who is to blame for the end of a process.
#include "actors/process_end.hpp"

#include <catch2/catch.hpp>
#include <csignal>

using namespace troupe;

namespace {

constexpr std::int32_t exited(int status) { return status << 8; }
constexpr int core_dumped = 0x80;

}  // namespace

TEST_CASE("exit status 0 is no failure, any other is the program's") {
  CHECK(judge_end({3}, exited(0)).code == errc::none);
  for (int status : {1, 2, 70, 255}) {
    auto why = judge_end({3}, exited(status));
    CHECK(why.code == errc::program_failed);
    CHECK(why.context == "rank 3 exited with status " + std::to_string(status));
  }
}

TEST_CASE("a signal that a program brings upon itself is the program's failure") {
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGPIPE}) {
    auto why = judge_end({7}, number | core_dumped);
    CHECK(why.code == errc::program_failed);
    CHECK(why.context.find("rank 7 died by signal " + std::to_string(number)) == 0);
  }
}

TEST_CASE("a signal from outside makes it a lost rank") {
  for (int number : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) {
    auto why = judge_end({7}, number);
    CHECK(why.code == errc::lost_rank);
    CHECK(why.context.find("rank 7 was killed from outside by signal " + std::to_string(number))
          == 0);
  }
}

TEST_CASE("of a failed rank it is told which allocation it was refused, if it was") {
  rank_page page{};
  CHECK(tell_refusal(page).empty());
  page.held_at_refusal_bytes = 100;
  page.refused_bytes = 30;
  CHECK(tell_refusal(page)
        == ", and had been refused 30 bytes for a tensor: its tensors on the CPU held 100, which "
           "left too little of the capacity");
}
