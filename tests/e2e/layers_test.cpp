// layers: the check of the includes finds what it is there for.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

outcome check_one_line(const std::string& file, const std::string& line) {
  const workspace here;
  std::filesystem::create_directories(std::filesystem::path(here.file(file)).parent_path());
  std::ofstream(here.file(file)) << "#pragma once\n" << line << "\n";
  return run({TOOLS "/layers", here.file("")});
}

TEST_CASE(
    "an include that points up, or a library outside its folder, is refused with file and line") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"messages/x.hpp", "#include \"graph/execution_graph.hpp\""},
      {"graph/x.cpp", "#include \"actors/interfaces.hpp\""},
      {"gpu/x.cpp", "#include \"graph/execution_graph.hpp\""},
      {"interpose/client/x.cpp", "#include \"graph/execution_graph.hpp\""},
      {"interpose/torch/x.cpp", "#include \"actors/system.hpp\""},
      {"actors/x.cpp", "#include \"tools/run_command.hpp\""},
      {"messages/x.cpp", "#include \"tests/e2e/command.hpp\""},
      {"graph/x.cpp", "#include <caf/actor.hpp>"},
      {"interpose/client/x.cpp", "#include <caf/actor.hpp>"},
      {"actors/x.cpp", "#include <capnp/message.h>"},
      {"messages/ids.hpp", "#include \"messages/wire.capnp.h\""},
      {"graph/x.cpp", "#include <msgpack.hpp>"},
      {"interpose/client/x.cpp", "#include <torch/extension.h>"},
      {"gpu/x.cpp", "#include <c10/util/Half.h>"},
      {"actors/x.cpp", "  #  include <cuda_runtime.h>"},
      {"actors/x.cpp", "#include \"rank.hpp\""},
  };
  for (const auto& [file, line] : wrong) {
    const auto ended = check_one_line(file, line);
    INFO(file << ": " << line << "\n" << describe(ended));
    CHECK(ended.status == 1);
    CHECK_THAT(ended.out, Contains(file + ":2: "));
  }
}

TEST_CASE("includes that point down and libraries at home are accepted") {
  const std::vector<std::pair<std::string, std::string>> right = {
      {"graph/x.hpp", "#include \"messages/ids.hpp\""},
      {"actors/x.cpp", "#include <caf/typed_actor.hpp>"},
      {"interpose/client/x.cpp", "#include \"gpu/reduction_tree.hpp\""},
      {"interpose/torch/x.cpp", "#include <torch/extension.h>"},
      {"messages/wire_codec.cpp", "#include \"messages/wire.capnp.h\""},
      {"messages/journal.cpp", "#include <msgpack.hpp>"},
      {"tools/x.cpp", "#include \"actors/interfaces.hpp\""},
  };
  for (const auto& [file, line] : right) {
    const auto ended = check_one_line(file, line);
    INFO(file << ": " << line << "\n" << describe(ended));
    CHECK(ended.status == 0);
    CHECK(ended.out.empty());
  }
}

TEST_CASE(
    "a skip that was not allowed fails a test run, an allowed one does not, an idle rule does") {
  const workspace here;
  std::ofstream(here.file("report.xml"))
      << "<testsuite><testcase name=\"a: runs\" status=\"run\"/>"
         "<testcase name=\"a: is skipped\" status=\"notrun\">"
         "<skipped message=\"x\"/><system-out>SKIPPED: no luck</system-out>"
         "</testcase></testsuite>";
  std::ofstream(here.file("none.txt")) << "# nothing is allowed\n";
  std::ofstream(here.file("one.txt")) << "a: is .* # luck is rare\n";
  const auto refused = run({TOOLS "/skips", here.file("report.xml"), here.file("none.txt")});
  INFO(describe(refused));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.out, Contains("no luck") && Contains("1 passed, 0 failed, 1 skipped"));
  CHECK(run({TOOLS "/skips", here.file("report.xml"), here.file("one.txt")}).status == 0);
  std::ofstream(here.file("one.txt"), std::ios::app) << "a:is .* # a name that no test has\n";
  CHECK(run({TOOLS "/skips", here.file("report.xml"), here.file("one.txt")}).status == 0);
  const auto idle = run({TOOLS "/skips", "--all", here.file("report.xml"), here.file("one.txt")});
  CHECK(idle.status == 1);
  CHECK_THAT(idle.out, Contains("no test is called a:is .*"));
}

}  // namespace
}  // namespace troupe::e2e
