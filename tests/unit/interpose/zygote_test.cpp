// Python programs that are forked: what they see must be what a plain interpreter shows them.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launched_run.hpp"

using namespace troupe;

namespace {

constexpr const char* python = "/usr/bin/python3";

struct seen {
  std::string output, errors;
  int status = -1;
  friend bool operator==(const seen&, const seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const seen& all) {
    return out << "status " << all.status << ", output \"" << all.output << "\", errors \""
               << all.errors << '"';
  }
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

seen run_plainly(const scratch_folder& folder, const std::vector<std::string>& command) {
  const auto output = folder.path() + "/plain.out", errors = folder.path() + "/plain.err";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setenv("RANK", "0", 1);
    ::setenv("PYTHONUNBUFFERED", "1", 1);
    if (!std::freopen(output.c_str(), "w", stdout) || !std::freopen(errors.c_str(), "w", stderr)
        || !std::freopen("/dev/null", "r", stdin))
      ::_exit(126);
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return {text_of(output), text_of(errors), status};
}

seen run_forked(const std::vector<std::string>& command) {
  launched_run run(command, 1);
  run.await_ends();
  REQUIRE(run.failures.empty());
  return {run.output_of(0), run.errors_of(0), run.ends[0].wait_status};
}

}  // namespace

TEST_CASE("a forked program behaves as under a plain interpreter") {
  const auto* text = GENERATE(
      "import sys, os\n"
      "print(__name__, __file__, sys.argv, sys.path[0], __spec__, __package__, __doc__, "
      "sys.stdin.read())\n"
      "print(sorted(globals()), sys.modules['__main__'].__file__, sys.orig_argv)\n"
      "print(__builtins__, __loader__.path, __annotations__, sys.flags.optimize)\n",
      "import atexit, threading, time\n"
      "atexit.register(print, 'first')\natexit.register(print, 'second')\n"
      "main_is_through = threading.Event()\n"
      "threading.Thread(target=lambda: (main_is_through.wait(), time.sleep(0.05), "
      "print('thread'))).start()\nprint('main')\nmain_is_through.set()\n",
      "def f():\n    return {}['key']\nprint('before')\nf()\n", "import sys\nsys.exit(5)\n",
      "import sys\nsys.exit('a reason')\n", "raise SystemExit\n", "def broken(:\n",
      "import no_such_module\n", "import os\nos._exit(9)\n",
      "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "raise KeyboardInterrupt\n",
      "import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__, a[2].tb_lineno)\nx = "
      "1 / 0\n",
      "import atexit\natexit.register(print, 'ends')\ntry:\n    1 / 0\nexcept Exception as e:\n"
      "    raise ValueError('x') from e\n",
      "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))) is C)\n",
      "import sibling\nprint(sibling.value, __name__)\n",
      "import sibling\nsibling.keep_open()\nprint('end')\n",
      "class D:\n    def __del__(self): print('deleted')\nd = D()\nprint('end')\n",
      "class D:\n    def __del__(self): print('deleted')\nd = [D()]\nd.append(d)\nprint('end')\n",
      "import sys\nprint('x')\nsys.exit(-1)\n", "import sys\nsys.exit(True)\n",
      "import sys\nsys.stdout.close()\n", "import sys\nsys.stdout = None\n",
      "import atexit\nclass F:\n    def __call__(self): 1 / 0\n    def __repr__(self): return 'F'\n"
      "atexit.register(F())\nprint('end')\n",
      "import dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    x: 'int' = 1\n"
      "print(A(), typing.get_type_hints(A))\n");
  scratch_folder folder;
  folder.file("sibling.py",
              "import os\nvalue = 42\n"
              "def keep_open():\n"
              "    global log\n    log = os.fdopen(os.dup(1), 'w')\n    log.write('kept')\n");
  const auto script = folder.file("program.py", text);
  const std::vector<std::string> command{python, "-B", "-O", script, "--flag", "x y"};
  const auto plain = run_plainly(folder, command);
  CHECK(run_forked(command) == plain);
}

TEST_CASE("a forked module behaves as under python -m") {
  scratch_folder folder;
  folder.file("package/__init__.py", "print('package')\n");
  folder.file("package/train.py",
              "import sys\nfrom . import __name__ as parent\n"
              "print(__name__, __package__, __spec__.name, parent, sys.argv, sys.path[0])\n"
              "raise RuntimeError('no')\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto* module = GENERATE("package.train", "package", "no_such_module");
  const std::vector<std::string> command{python, "-B", "-m", module, "a", "-b"};
  const auto plain = run_plainly(folder, command);
  const auto forked = run_forked(command);
  std::filesystem::current_path(before);
  CHECK(forked == plain);
}

TEST_CASE("ranks are forked from one parent, with their variables and numbers of their own") {
  scratch_folder folder;
  const auto script = folder.file("program.py",
                                  "import os, random\n"
                                  "print(os.environ['RANK'], os.environ['LOCAL_RANK'], "
                                  "os.environ['WORLD_SIZE'], os.environ.get('TROUPE_ZYGOTE'))\n"
                                  "print(os.getppid(), os.getpgid(0) == os.getpid())\n"
                                  "print(random.random())\n"
                                  "print(sorted(os.listdir('/proc/self/fd')))\n"
                                  "import resource\n"
                                  "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n");
  launched_run run({python, script}, 5);
  run.await_ends();
  std::set<std::string> parents, randoms, descriptors, limits;
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    const auto number = std::to_string(rank);
    CHECK(run.line_of(rank) == number + " " + number + " 5 None");
    parents.insert(run.line_of(rank));
    randoms.insert(run.line_of(rank));
    descriptors.insert(run.line_of(rank));
    limits.insert(run.line_of(rank));
    CHECK(run.ends[rank].wait_status == 0);
    CHECK(run.ends[rank].peak_bytes > 1'000'000);
  }
  CHECK(parents.size() == 1);
  CHECK(parents.begin()->find(" True") != std::string::npos);
  CHECK(randoms.size() == 5);
  CHECK(*descriptors.begin() == "['0', '1', '2', '3']");  // the listing's own is the last
  CHECK(descriptors.size() == 1);
  CHECK(*limits.begin() == std::to_string(::sysconf(_SC_OPEN_MAX)));
}

TEST_CASE("an interrupt ends forked ranks as it ends plain programs") {
  scratch_folder folder;
  const auto script = folder.file("program.py", "import time\nprint('ready'); time.sleep(100)\n");
  launched_run run({python, script}, 2);
  CHECK(run.line_of(0) == "ready");
  CHECK(run.line_of(1) == "ready");
  run.send(to_launcher::signal{SIGINT});
  run.await_ends();
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    CHECK(WIFSIGNALED(run.ends[rank].wait_status));
    CHECK(WTERMSIG(run.ends[rank].wait_status) == SIGINT);
    const auto errors = run.errors_of(rank);
    CHECK(errors.find("Traceback (most recent call last):\n  File \"" + script + "\", line 2")
          == 0);
    CHECK(errors.find("zygote") == std::string::npos);
    CHECK(errors.find("KeyboardInterrupt\n") != std::string::npos);
  }
}

TEST_CASE("forked ranks do not outlive the launcher") {
  scratch_folder folder;
  const auto script = folder.file("program.py",
                                  "import subprocess, time\n"
                                  "print(subprocess.Popen(['sleep', '1000']).pid)\n"
                                  "time.sleep(1000)\n");
  launched_run run({python, script}, 2);
  const int sleepers[] = {std::stoi(run.line_of(0)), std::stoi(run.line_of(1))};
  while (run.pids.size() < 2) run.next();
  SECTION("told to end") { run.send(to_launcher::end{}); }
  SECTION("the warden is killed") { ::kill(run.started.warden(), SIGKILL); }
  for (auto [rank, pid] : run.pids) CHECK(goes_away(pid));
  if (is_alive(run.started.warden())) CHECK(goes_away(run.started.warden()));
  for (int sleeper : sleepers) ::kill(sleeper, SIGKILL);
}

TEST_CASE("where a shared import starts a thread, ranks execute the interpreter anew") {
  scratch_folder folder;
  folder.file("numpy/__init__.py",
              "import threading, time\n"
              "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
              "class random:\n    @staticmethod\n    def seed(): raise SystemExit(8)\n");
  const auto script =
      folder.file("main/program.py",
                  "import os, sys\nimport numpy\n"
                  "print(os.environ['RANK'], sys.argv[1:], os.environ.get('TROUPE_ZYGOTE'))\n"
                  "print(open('/proc/self/cmdline').read().count('zygote'))\n");
  ::setenv("PYTHONPATH", folder.path().c_str(), 1);
  launched_run run({python, script, "a"}, 2);
  ::unsetenv("PYTHONPATH");
  run.await_ends();
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    CHECK(run.output_of(rank) == std::to_string(rank) + " ['a'] None\n0\n");
}

TEST_CASE("what the program brings itself is not imported for it") {
  scratch_folder folder;
  folder.file("numpy.py",
              "import os\nprint('own numpy of rank', os.environ['RANK'])\n"
              "class random:\n    @staticmethod\n    def seed(): raise SystemExit(8)\n");
  const auto script = folder.file("program.py", "import numpy\n");
  launched_run run({python, script}, 1);
  run.await_ends();
  CHECK(run.output_of(0) == "own numpy of rank 0\n");
  CHECK(run.ends[0].wait_status == 0);
}

TEST_CASE("a parent of ranks that dies is a failure") {
  scratch_folder folder;
  folder.file("numpy.py", "import os\nos._exit(4)\n");
  const auto script = folder.file("main/program.py", "import numpy\n");
  ::setenv("PYTHONPATH", folder.path().c_str(), 1);
  launched_run run({python, script}, 2);
  ::unsetenv("PYTHONPATH");
  run.await_ends();
  REQUIRE(run.failures.size() == 1);
  CHECK(run.failures[0].code == errc::bad_input);
  CHECK(run.failures[0].context.find("ended with status 4") != std::string::npos);
}

TEST_CASE("a rank that cannot be forked is a lack of resources, told without a traceback") {
  scratch_folder folder;
  folder.file("numpy.py",
              "import os\ndef fork():\n    raise BlockingIOError(11, 'no more')\nos.fork = fork\n");
  const auto script = folder.file("main/program.py", "import numpy\n");
  ::setenv("PYTHONPATH", folder.path().c_str(), 1);
  launched_run run({python, script}, 2);
  ::unsetenv("PYTHONPATH");
  run.await_ends();
  REQUIRE(run.failures.size() == 1);
  CHECK(run.failures[0].code == errc::no_resources);
  CHECK(run.failures[0].context == "no process for rank 0: no more");
  run.send(to_launcher::end{});
  CHECK(goes_away(run.started.warden()));
}
