// `troupe torch-plugin`, as somebody uses it who has an installed troupe and a compiler.
//
// The installation here has no backend of its own: it is this build's without them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "tests/e2e/workspace.hpp"

using namespace troupe::e2e;
namespace fs = std::filesystem;

namespace {

struct installation {
  workspace place;
  std::string troupe = place.file("prefix/bin/troupe");

  installation() {
    const fs::path built = fs::path(TEST_CLIENT).parent_path(), mine = place.file("prefix/lib");
    fs::create_directories(place.file("prefix/bin"));
    fs::create_directories(mine / "python");
    fs::copy(TEST_TROUPE, troupe);
    for (const auto* library : {"libtroupe_client.so", "libtroupe_preload.so"})
      fs::copy(built / library, mine / library);
    fs::copy(built / "torch-plugin", mine / "torch-plugin", fs::copy_options::recursive);
    for (const auto* part : {"sitecustomize.py", "troupe_zygote.py", "troupe_hook"})
      fs::copy(built / "python" / part, mine / "python" / part, fs::copy_options::recursive);
  }

  outcome run(std::vector<std::string> arguments,
              std::map<std::string, std::string> environment = {}) const {
    arguments.insert(arguments.begin(), troupe);
    auto options = place.environment(std::chrono::minutes{10});
    environment.emplace("XDG_CACHE_HOME", place.file("cache"));
    options.environment.insert(environment.begin(), environment.end());
    return troupe::e2e::run(std::move(arguments), options);
  }
  outcome make(const std::string& interpreter,
               std::map<std::string, std::string> environment = {}) const {
    return run({"torch-plugin", "--python", interpreter, "--json", place.file("report.json")},
               std::move(environment));
  }
  std::string script(const std::string& name, const std::string& text) const {
    std::ofstream(place.file(name)) << text;
    fs::permissions(place.file(name), fs::perms::owner_all);
    return place.file(name);
  }
};

bool says(const outcome& ended, const std::string& words) {
  return ended.err.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("torch-plugin says in one sentence what is missing") {
  if (skipped_without_torch()) return;
  installation here;

  auto ended = here.make("/no/such/python");
  INFO(describe(ended));
  CHECK(ended.status == 3);
  CHECK(says(ended, "cannot execute /no/such/python"));
  CHECK(here.place.report()->at("outcome") == "bad_input");

  ended = here.make(here.script("no-python", "#!/bin/sh\necho nothing to say\n"));
  CHECK(ended.status == 3);
  CHECK(says(ended, "cannot say what torch it has"));

  ended = here.make(here.script("bare-python", "#!/bin/sh\nexec " + python() + " -I -S \"$@\"\n"));
  CHECK(ended.status == 3);
  CHECK(says(ended, "has no torch"));

  fs::create_directories(here.place.file("old/torch"));
  here.script("old/torch/__init__.py",
              "__version__ = '2.1.2'\n"
              "class _C: _GLIBCXX_USE_CXX11_ABI = True\n"
              "from . import distributed\n");
  here.script("old/torch/distributed.py", "is_available = lambda: True\n");
  ended = here.make(python(), {{"PYTHONPATH", here.place.file("old")}});
  CHECK(ended.status == 3);
  CHECK(says(ended, "torch 2.1.2"));
  CHECK(says(ended, "2.4 and newer"));

  ended = here.make(python(), {{"CXX", "/no/such/compiler"}});
  CHECK(ended.status == 6);
  CHECK(says(ended, "no C++ compiler"));
  CHECK(here.place.report()->at("outcome") == "no_resources");

  ended = here.make(python(), {{"CXX", here.script("no-compiler", "#!/bin/sh\nexit 1\n")}});
  CHECK(ended.status == 6);
  CHECK(says(ended, "is no C++20 compiler"));

  CHECK(here.run({"torch-plugin", "--colour"}).status == 2);
  CHECK(!fs::exists(here.place.file("cache/troupe")));  // nothing is left of the attempts
}

TEST_CASE("a run finds the backend that torch-plugin built, and none built for something else") {
  if (skipped_without_torch()) return;
  installation here;
  const auto program = here.script("program.py",
                                   "import torch, torch.distributed as dist\n"
                                   "dist.init_process_group('gloo')\n"
                                   "tensor = torch.ones(2)\n"
                                   "dist.all_reduce(tensor)\n"
                                   "print('sum', tensor.tolist())\n");
  const std::vector<std::string> run{"run",        "--world", "2",
                                     "--no-trace", "--json",  here.place.file("report.json"),
                                     "--",         python(),  program};
  const auto command = "troupe torch-plugin --python " + python();

  auto ended = here.run(run);
  INFO(describe(ended));
  CHECK(ended.status == 3);
  CHECK(says(ended, "no c10d backend is built for torch"));
  CHECK(says(ended, command));
  CHECK(here.place.report()->at("outcome") == "bad_input");
  // A program that does not communicate needs none.
  const std::vector<std::string> alone{"--json", here.place.file("report.json"), "--", python()};
  const auto run_alone = [&](std::vector<std::string> words, std::vector<std::string> program) {
    words.insert(words.begin(), {"run", "--no-trace"});
    words.insert(words.end(), alone.begin(), alone.end());
    words.insert(words.end(), program.begin(), program.end());
    return here.run(words);
  };
  const std::vector<std::string> command_line{"-c", "import torch; torch.ones(1)"};
  CHECK(run_alone({}, command_line).status == 0);
  CHECK(here.place.report()->at("ranks").at(0).at("tensor_peak_bytes").is_null());
  // To limit its tensors takes one, and it is not left unlimited.
  ended = run_alone({"--tensor-memory", "1GiB"}, command_line);
  INFO(describe(ended));
  CHECK(ended.status == 1);
  CHECK(says(ended, "ImportError: --tensor-memory needs the backend"));
  ended = run_alone({"--tensor-memory", "1GiB"},
                    {here.script("alone.py", "import torch\ntorch.ones(1)\n")});
  INFO(describe(ended));
  CHECK(ended.status == 3);
  CHECK(says(ended, "no c10d backend is built for torch"));

  ended = here.make(python());
  INFO(describe(ended));
  REQUIRE(ended.status == 0);
  auto report = *here.place.report();
  CHECK(report.at("built") == true);
  const fs::path folder = report.at("folder").get<std::string>();
  CHECK(fs::is_regular_file(folder / "troupe_c10d.so"));
  ended = here.make(python());
  CHECK(ended.status == 0);
  CHECK(here.place.report()->at("built") == false);

  ended = here.run(run);
  INFO(describe(ended));
  CHECK(ended.status == 0);
  CHECK(ended.out.find("sum [2.0, 2.0]") != std::string::npos);
  CHECK(here.run({"doctor", "--python", python()}).out.find("with the c10d backend")
        != std::string::npos);

  // Built from other sources: as good as none.
  std::ofstream(folder / "sources.sha256") << "another\n";
  ended = here.run(run);
  CHECK(ended.status == 3);
  CHECK(says(ended, "built by another version of Troupe"));
  CHECK(says(ended, command));
  // For another torch: not looked at, though nothing else is there.
  auto other = folder.filename().string();
  other.insert(other.find('-') + 1, "9");
  fs::rename(folder, folder.parent_path() / other);
  ended = here.run(run);
  CHECK(ended.status == 3);
  CHECK(says(ended, "no c10d backend is built"));
}
