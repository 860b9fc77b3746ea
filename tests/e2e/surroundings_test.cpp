// surroundings: places and streams that a run is given and that are not as usual: closed standard
// descriptors, a reader that goes away, a path with blanks, places that cannot be written.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The words as a shell's "$@", in a script.
outcome in_shell(const workspace& here, const std::string& script, std::vector<std::string> words) {
  words.insert(words.begin(), {"sh", "-c", script, "sh"});
  return run(std::move(words), here.environment());
}

TEST_CASE("a run that is refused neither starts its program nor touches a former trace") {
  const workspace here;
  const auto refused = [&](int status, std::vector<std::string> options, const char* program,
                           const std::string& culprit) {
    std::ofstream(here.trace()) << "a former trace";
    std::vector<std::string> words = {"run", "--trace", here.trace()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", program, here.file("started")});
    const auto ended = here.verb(words);
    INFO(describe(ended));
    CHECK(ended.status == status);
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains(culprit));
    CHECK(text_of(here.trace()) == "a former trace");
    CHECK(!fs::exists(here.file("started")));
  };
  refused(6, {"--pool-folder", "/nowhere"}, "touch", "/nowhere");
  refused(3, {"--json", here.file("nowhere/report.json")}, "touch", "nowhere/report.json");
  refused(3, {"--json", here.file("tmp")}, "touch", here.file("tmp"));
  refused(3, {}, "no-such-program", "no-such-program");
  refused(2, {"--json", here.trace()}, "touch", "--json");
  refused(2, {"--json", here.file("tmp/../trace.prism.journal")}, "touch", "--json");
  refused(2, {"--json", ""}, "touch", "--json");
  refused(2, {"--pool-memory", "-4"}, "touch", "--pool-memory");
  refused(2, {"--pool-spill", "-4GiB"}, "touch", "--pool-spill");
  refused(2, {"--pool-folder", ""}, "touch", "--pool-folder");
}

TEST_CASE("a run without standard descriptors does not take its own files for them") {
  const workspace here;
  const leftovers left;
  // The rank's parent is the launcher, whose parent is the runner.
  const auto look =
      "runner=$(ps -o ppid= -p $PPID | tr -d ' '); echo printed; "
      "for n in 0 1 2; do readlink /proc/$runner/fd/$n; done >"
      + here.file("descriptors");
  const auto ended =
      in_shell(here, "exec \"$@\" <&- >&- 2>&-",
               here.troupe_run({.world = 1, .slots = 1, .program = {"sh", "-c", look}}));
  INFO(describe(ended));
  CHECK(ended.status == 0);
  CHECK(text_of(here.file("descriptors")) == "/dev/null\n/dev/null\n/dev/null\n");
  CHECK(here.inspect(here.trace()));
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("ranks find their output closed when its reader is gone, and the run ends in order") {
  const workspace here;
  const leftovers left;
  const auto ended = in_shell(here, "{ \"$@\"; echo $? >status; } | head -n 1",
                              here.troupe_run({.world = 2, .program = {"yes"}}));
  INFO(describe(ended));
  CHECK(!ended.timed_out);
  CHECK_THAT(ended.out, Contains("] y\n"));
  CHECK(text_of(here.file("status")) == "1\n");
  REQUIRE(messages(ended).size() == 2);
  CHECK_THAT(messages(ended)[0], Contains("standard output") && Contains("Broken pipe"));
  CHECK_THAT(messages(ended)[1], Contains("signal 13"));
  CHECK(here.report().value().at("outcome") == "program_failed");
  CHECK(here.inspect(here.trace()));
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("a run whose trace another run is writing is refused, and the other's stays whole") {
  const workspace here;
  command first(here.troupe_run({.program = {"sh", "-c", "until [ -e end ]; do sleep 0.1; done"}}),
                here.environment());
  REQUIRE(eventually([&] { return fs::exists(here.trace() + ".journal"); }, 300s));
  const auto second = here.run({.report = false, .program = {"touch", here.file("started")}});
  std::ofstream(here.file("end"));
  const auto ended = first.wait();
  INFO(describe(ended) << describe(second));
  CHECK(second.status == 3);
  REQUIRE(messages(second).size() == 1);
  CHECK_THAT(messages(second).front(), Contains(here.trace()) && Contains("another process"));
  CHECK(!fs::exists(here.file("started")));
  CHECK(ended.status == 0);
  CHECK(here.inspect(here.trace()).value().at("world") == 4);
}

TEST_CASE("a single rank's output is the program's own, byte for byte") {
  const workspace here;
  const auto ended = here.run({.world = 1, .slots = 1, .program = {"printf", "a\\r50%%"}});
  CHECK(ended.out == "a\r50%");
}

TEST_CASE("troupe runs from a folder whose name has a blank and other letters") {
  const workspace here;
  const auto place = here.file("mit Blank, für alle");
  fs::create_directory(place);
  const auto build = fs::path(TEST_TROUPE).parent_path().parent_path();
  fs::create_directory(place + "/bin");
  fs::copy_file(TEST_TROUPE, place + "/bin/troupe");
  fs::create_directory(place + "/lib");
  for (const auto& entry : fs::directory_iterator(build / "lib"))
    if (entry.path().extension() == ".so") fs::copy(entry.path(), place + "/lib");
  fs::copy(build / "lib/python", place + "/lib/python", fs::copy_options::recursive);
  const auto see = "grep -c 'libtroupe_preload.so' /proc/self/maps";
  const auto preloaded =
      run({place + "/bin/troupe", "run", "--no-trace", "-q", "--", "sh", "-c", see},
          here.environment());
  INFO(describe(preloaded));
  CHECK(preloaded.status == 0);
  CHECK(preloaded.err.empty());
  const auto summed = run({place + "/bin/troupe", "run", "--world", "2", "--slots", "1", "-q", "--",
                           python(), test_program("sums.py")},
                          here.environment());
  INFO(describe(summed));
  CHECK(summed.status == 0);
  CHECK(summed.err.empty());
  // Search paths cannot hold this one.
  fs::rename(place, here.file("a:b"));
  const auto refused = run({here.file("a:b/bin/troupe"), "run", "--", "true"}, here.environment());
  CHECK(refused.status == 3);
  CHECK_THAT(refused.err, Contains("a:b"));
}

}  // namespace
}  // namespace troupe::e2e
