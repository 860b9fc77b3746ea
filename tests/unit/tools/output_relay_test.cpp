// output_relay: what ranks write arrives as promised, and a reader that goes away is not hidden
// from them.
#include "tools/output_relay.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace troupe;

namespace {

struct pipe_ends {
  pipe_ends() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
  ~pipe_ends() { close_read(), close_write(); }
  void close_read() { ::close(std::exchange(ends[0], -1)); }
  void close_write() { ::close(std::exchange(ends[1], -1)); }
  int give_read() { return std::exchange(ends[0], -1); }
  void write(const std::string& text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  std::string read_all() {
    std::string text;
    char piece[4096];
    for (ssize_t n; (n = ::read(ends[0], piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(n));
    return text;
  }
  int ends[2];
};

/// What arrives at the target when every rank writes its text and ends.
std::string relayed(const std::vector<std::string>& texts) {
  pipe_ends target;
  std::vector<pipe_ends> ranks(texts.size());
  std::vector<output_relay::source> sources;
  for (std::size_t n = 0; n < texts.size(); ++n)
    sources.push_back({"[" + std::to_string(n) + "] ", ranks[n].give_read(), target.ends[1]});
  auto relay = std::make_unique<output_relay>(sources, texts.size() > 1, nullptr);
  std::string seen;
  std::thread reader([&] { seen = target.read_all(); });
  for (std::size_t n = 0; n < texts.size(); ++n) ranks[n].write(texts[n]), ranks[n].close_write();
  relay.reset();
  target.close_write();
  reader.join();
  return seen;
}

}  // namespace

TEST_CASE("one rank's output is passed on byte for byte") {
  CHECK(relayed({"no line end"}) == "no line end");
  CHECK(relayed({std::string("a\r50%\r\n\0\xff", 9)}) == std::string("a\r50%\r\n\0\xff", 9));
  const std::string much(3 * output_relay::line_bytes_max, 'x');
  CHECK(relayed({much}) == much);
}

TEST_CASE("of several ranks whole lines are passed on, each with its rank") {
  CHECK(relayed({"", "first\nlast"}) == "[1] first\n[1] last\n");
  const auto seen = relayed({std::string(3 * output_relay::line_bytes_max, 'x'), ""});
  CHECK(std::count(seen.begin(), seen.end(), 'x') == 3 * output_relay::line_bytes_max);
  for (std::size_t begin = 0; begin < seen.size(); begin = seen.find('\n', begin) + 1)
    REQUIRE(seen.compare(begin, 4, "[0] ") == 0);
}

TEST_CASE("ranks whose output nobody reads any more find it closed, the others do not") {
  ::signal(SIGPIPE, SIG_IGN);
  pipe_ends gone, kept, first, second, third;
  {
    output_relay relay({{"[0] ", first.give_read(), gone.ends[1]},
                        {"[1] ", second.give_read(), gone.ends[1]},
                        {"[1] ", third.give_read(), kept.ends[1]}},
                       true, nullptr);
    gone.close_read();
    // Both, also the one that has written nothing; a pipe takes some before it is closed.
    const auto is_told = [](pipe_ends& rank) {
      while (::write(rank.ends[1], "y\n", 2) == 2) std::this_thread::yield();
      return errno == EPIPE;
    };
    CHECK(is_told(first));
    CHECK(is_told(second));
    third.write("still here\n");
    third.close_write();
  }
  kept.close_write();
  CHECK(kept.read_all() == "[1] still here\n");
}

TEST_CASE(
    "output that its target does not take is lost and said to be, not so where a reader went") {
  ::signal(SIGPIPE, SIG_IGN);
  auto passed_on = [](const std::string& text, int target) {
    pipe_ends rank;
    output_relay relay({{"", rank.give_read(), target}}, false, nullptr);
    rank.write(text);
    rank.close_write();
    return relay.finish();
  };
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  CHECK_FALSE(passed_on("text", full));
  CHECK(passed_on("", full));
  ::close(full);
  pipe_ends reader;
  CHECK(passed_on("text", reader.ends[1]));
  reader.close_read();
  CHECK(passed_on("text", reader.ends[1]));
}
