// Programs that are executed: statuses, output, signals, and that nothing outlives the run.
#include "interpose/launch/launcher.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "interpose/launch/program.hpp"
#include "launched_run.hpp"

using namespace troupe;

TEST_CASE("each rank has its variables, its output and its exit status") {
  for (const auto* name : {"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"}) ::unsetenv(name);
  launched_run run({"/bin/sh", "-c",
                    "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR "
                    "$OMP_NUM_THREADS $EXTRA; [ $MASTER_PORT -gt 1023 ] || echo $MASTER_PORT; echo "
                    "oops >&2; exit $((RANK + 3))"},
                   3, {{"EXTRA", "more"}});
  run.await_ends();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const auto number = std::to_string(rank);
    CHECK(run.output_of(rank) == number + "/3 " + number + "/3 127.0.0.1 1 more\n");
    CHECK(run.errors_of(rank) == "oops\n");
    CHECK(run.ends[rank].pid == run.pids[rank]);
    CHECK(WIFEXITED(run.ends[rank].wait_status));
    CHECK(WEXITSTATUS(run.ends[rank].wait_status) == static_cast<int>(rank + 3));
    CHECK(run.ends[rank].peak_bytes > 100'000);
  }
  CHECK(run.failures.empty());
}

TEST_CASE("a rank that dies by its own signal is reported so, with the time it used") {
  launched_run run(
      {"/bin/sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; kill -SEGV $$"}, 1);
  run.await_ends();
  CHECK(WIFSIGNALED(run.ends[0].wait_status));
  CHECK(WTERMSIG(run.ends[0].wait_status) == SIGSEGV);
  CHECK(run.ends[0].cpu_ns > 1'000'000);
}

TEST_CASE("a rank's standard input is empty and it leads its own group in the warden's session") {
  launched_run run({"/bin/sh", "-c", "cat; ps -o pgid= -o sid= -p $$"}, 1);
  run.await_ends();
  const auto output = run.output_of(0);
  int group = 0, session = 0;
  REQUIRE(std::sscanf(output.c_str(), "%d %d", &group, &session) == 2);
  CHECK(group == run.pids[0]);
  CHECK(session == run.started.warden());
  CHECK(session != ::getsid(0));
}

TEST_CASE("signals reach every live rank's group") {
  launched_run run({"/bin/sh", "-c",
                    "[ $RANK = 0 ] && exit 0; trap 'echo got; exit 7' TERM; echo ready; "
                    "while :; do sleep 0.05; done"},
                   3);
  CHECK(run.line_of(1) == "ready");
  CHECK(run.line_of(2) == "ready");
  while (run.ends.empty()) run.next();
  run.send(to_launcher::signal{SIGTERM});
  run.await_ends();
  for (std::uint32_t rank : {1, 2}) {
    CHECK(run.line_of(rank) == "got");
    CHECK(WEXITSTATUS(run.ends[rank].wait_status) == 7);
  }
}

TEST_CASE("what a rank leaves behind is killed at the end, sessions of its own included") {
  launched_run run({"/bin/sh", "-c",
                    "setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & echo $! $$; wait' & "
                    "while [ $(wc -l </dev/null) != 0 ]; do :; done; sleep 0.2"},
                   1);
  int sleeper = 0, shell = 0;
  REQUIRE(std::sscanf(run.line_of(0).c_str(), "%d %d", &sleeper, &shell) == 2);
  run.await_ends();
  CHECK(is_alive(sleeper));
  CHECK(is_alive(shell));
  const auto warden = run.started.warden();
  run.send(to_launcher::end{});
  CHECK(goes_away(sleeper));
  CHECK(goes_away(shell));
  CHECK(goes_away(warden));
}

TEST_CASE("nothing of a run outlives a runner that is killed") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t runner = ::fork();
  if (runner == 0) {
    auto started = launcher::start(
        {{"/bin/sh", "-c", "setsid sleep 1000 & echo $! $$; wait"}, 2, {}, TROUPE_LIBRARY_FOLDER});
    if (!started) ::_exit(1);
    char line[2][64]{};
    for (int rank = 0; rank < 2; ++rank)
      if (::read(started->outputs[rank].standard_output, line[rank], 63) < 0) ::_exit(2);
    const auto text = std::string(line[0]) + line[1] + std::to_string(started->warden()) + "\n";
    if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(3);
    for (;;) ::pause();
  }
  char text[256]{};
  REQUIRE(::read(ends[0], text, 255) > 0);
  int pids[5];
  REQUIRE(std::sscanf(text, "%d %d %d %d %d", &pids[0], &pids[1], &pids[2], &pids[3], &pids[4])
          == 5);
  for (int pid : pids) CHECK(is_alive(pid));
  ::kill(runner, SIGKILL);
  ::waitpid(runner, nullptr, 0);
  for (int pid : pids) CHECK(goes_away(pid));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a killed warden takes the ranks with it") {
  launched_run run({"/bin/sleep", "1000"}, 2);
  while (run.pids.size() < 2) run.next();
  ::kill(run.started.warden(), SIGKILL);
  for (auto [rank, pid] : run.pids) CHECK(goes_away(pid));
}

TEST_CASE("a program that is not there is named, with where it was looked for") {
  auto missing = launcher::start({{"no-such-program-at-all"}, 1, {}, TROUPE_LIBRARY_FOLDER});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == errc::bad_input);
  CHECK(missing.error().context.find("no program \"no-such-program-at-all\" in PATH (") == 0);
  auto nowhere = launcher::start({{"./no/such/program"}, 1, {}, TROUPE_LIBRARY_FOLDER});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().context == "./no/such/program: there is no such program");
  scratch_folder folder;
  const auto plain = folder.file("plain", "text");
  auto refused = launcher::start({{plain}, 1, {}, TROUPE_LIBRARY_FOLDER});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().context == plain + " is not an executable file");
}

TEST_CASE("a program that cannot be executed is a failure that says why") {
  scratch_folder folder;
  launched_run run({folder.file("bad", "not a program", 0755)}, 1);
  run.await_ends();
  REQUIRE(run.failures.size() == 1);
  CHECK(run.failures[0].code == errc::bad_input);
  CHECK(run.failures[0].context.find("Exec format error") != std::string::npos);
}

TEST_CASE("many ranks start within the descriptor limit they had before") {
  launched_run run({"/bin/sh", "-c", "ulimit -n"}, 64);
  run.await_ends();
  CHECK(run.ends.size() == 64);
  const auto limit = std::to_string(::sysconf(_SC_OPEN_MAX)) + "\n";
  for (std::uint32_t rank = 0; rank < 64; ++rank) CHECK(run.output_of(rank) == limit);
}

TEST_CASE("only a plain python script or module is forked") {
  scratch_folder folder;
  const auto script = folder.file("train.py", "");
  auto script_at = [&](std::vector<std::string> command) {
    command.insert(command.begin(), "/usr/bin/python3");
    auto found = find_program(command);
    REQUIRE(found);
    return found->script_at;
  };
  CHECK(script_at({script, "-c", "x"}) == 1);
  CHECK(script_at({"-u", "-X", "dev", "-W", "error", "-Wall", script}) == 7);
  CHECK(script_at({"-uB", "-m", "package.train", "a"}) == 2);
  CHECK(script_at({"-c", "print()"}) == 0);
  CHECK(script_at({"-I", script}) == 0);
  CHECK(script_at({"-"}) == 0);
  CHECK(script_at({folder.path()}) == 0);  // a folder with a __main__.py
  CHECK(script_at({"missing.py"}) == 0);
  CHECK(script_at({}) == 0);
  CHECK(find_program({"/bin/sh", script})->script_at == 0);
}
