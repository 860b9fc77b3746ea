// assert_test: a broken invariant ends the process and says its values; one that holds costs
// nothing and says nothing.
#include "messages/assert.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>

TEST_CASE("an assertion that fails aborts with the condition, the place and the values") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's own handler would speak
    dup2(pipe_ends[1], STDERR_FILENO);
    int members = 3;
    TROUPE_ASSERT(members == 4, members, "of four");
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(said.find("members == 4") != std::string::npos);
  CHECK(said.find("assert_test.cpp:") != std::string::npos);
  CHECK(said.find(" 3 of four") != std::string::npos);
}

TEST_CASE("an assertion evaluates its condition once and its values only on failure") {
  int conditions = 0, values = 0;
  TROUPE_ASSERT(++conditions == 1, ++values);
  CHECK(conditions == 1);
  CHECK(values == 0);
}
