// stall_report: who waits for whom when nothing happens any more.
#include "net/stall_report.hpp"

#include "tests/unit/net/simulated.hpp"

using namespace troupe;
using Catch::Matchers::Contains;

TEST_CASE("a circle of dependencies is written out") {
  const auto done = simulated(
      "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\nc: calc 3\nc "
      "requires "
      "a\n}\nrank 1 {\ncalc 5\n}\n");
  CHECK(done.hosts_ns == hosts{0, 5});
  CHECK((done.ended == 1 && done.operations == 4));
  REQUIRE(done.findings.size() == 1);
  const auto& found = done.findings[0];
  CHECK(found.kind == errc::deadlock);
  CHECK(found.ranks == std::vector<std::uint32_t>{0});
  CHECK(found.cycle.size() == 2);
  CHECK_THAT(found.text, Contains("rank 0 operation 1 (calc 1 ns)")
                             && Contains("rank 0 operation 2 (calc 2 ns)")
                             && Contains("3 operation(s) never had their turn"));
}

TEST_CASE("an operation that waits for itself is a circle of one") {
  const auto done = simulated("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n");
  REQUIRE(done.findings.size() == 1);
  CHECK(done.findings[0].cycle.size() == 1);
}

TEST_CASE("ranks that each wait for the other's message are a circle over both") {
  const auto done = simulated(
      "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\nrank 1 {\na: "
      "recv "
      "8b from 0\nb: send 8b to 0\nb requires a\n}\n");
  REQUIRE(done.findings.size() == 1);
  CHECK(done.findings[0].kind == errc::deadlock);
  CHECK(done.findings[0].ranks == std::vector<std::uint32_t>{0, 1});
  CHECK(done.findings[0].cycle.size() == 4);
}

TEST_CASE("sends above S that wait for each other's recv are a circle and eager ones are none") {
  const auto* text =
      "num_ranks 2\nrank 0 {\na: send 100b to 1\nb: recv 100b from 1\nb requires a\n}\nrank 1 "
      "{\na: "
      "send 100b to 0\nb: recv 100b from 0\nb requires a\n}\n";
  CHECK(simulated(text).findings.empty());
  loggops_parameters parameters;
  parameters.eager_bytes_max = 10;
  const auto done = simulated(text, parameters);
  REQUIRE(done.findings.size() == 1);
  CHECK(done.findings[0].cycle.size() == 4);
}

TEST_CASE("a recv without a send and a message without a recv are both told") {
  const auto done = simulated(
      "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\nrank 1 {\na: recv 8b from 0 tag 2\nb: calc "
      "1\nb "
      "requires a\n}\n");
  REQUIRE(done.findings.size() == 2);
  CHECK(done.findings[0].kind == errc::mismatch);
  CHECK_THAT(
      done.findings[0].text,
      Contains("1 recv(s) that no send is for: rank 1 operation 1 (recv 8 bytes from 0 tag 2)")
          && Contains("1 operation(s) never had their turn"));
  CHECK_THAT(
      done.findings[1].text,
      Contains("1 message(s) that no recv takes: rank 0 operation 1 (send 8 bytes to 1 tag 1)"));
  CHECK(done.matched == 0);
}

TEST_CASE("wildcards wait for what they may match") {
  const auto done = simulated(
      "num_ranks 2\nrank 0 {\na: recv 8b from -1 tag -1\nb: send 8b to 1 tag 3\nb requires "
      "a\n}\nrank 1 "
      "{\na: recv 8b from -1 tag 3\nb: send 8b to 0 tag 9\nb requires a\n}\n");
  REQUIRE(done.findings.size() == 1);
  CHECK(done.findings[0].cycle.size() == 4);
}

TEST_CASE("of very many only some are listed, and all are counted") {
  goal::schedule_builder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.begin_rank();
    for (int i = 0; i < 50'000; ++i)
      builder.add({.kind = goal::operation_kind::recv, .size = 8, .peer = 1 - rank, .tag = 5});
    REQUIRE(builder.end_rank());
  }
  const auto done = simulated(builder.finish());
  REQUIRE(done.findings.size() == 1);
  CHECK(done.findings[0].count == 100'000);
  CHECK(done.findings[0].operations.size() == stall_operations_max);
  CHECK(done.findings[0].ranks == std::vector<std::uint32_t>{0, 1});
}
