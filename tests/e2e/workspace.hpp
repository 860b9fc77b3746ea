// workspace: a private folder for one test's runs of `troupe`, and the words to run it.
//
// The folder is also the runs' TMPDIR and goes away with the workspace. Invariant: nothing here
// knows how troupe works; it is driven as a user drives it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/command.hpp"

namespace troupe::e2e {

/// tests/programs/NAME
std::string test_program(const std::string& name);
/// The interpreter that the c10d backend is built for.
std::string python();
/// Prints "SKIPPED: …" and returns true when that interpreter has no torch.
bool skipped_without_torch();

struct run_options {
  std::uint32_t world = 4, slots = 2;
  bool trace = true, report = true;
  std::string trace_file = {};  ///< instead of the workspace's own
  std::vector<std::string> program = {};
};

class workspace {
 public:
  workspace();
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;
  ~workspace();

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string trace() const { return file("trace.prism"); }
  /// `troupe ARGUMENTS…` with the environment of the test programs.
  std::vector<std::string> troupe(std::vector<std::string> arguments) const;
  std::vector<std::string> troupe_run(const run_options& options) const;
  command_options environment(std::chrono::milliseconds timeout = 600s) const;

  outcome run(const run_options& options) const;
  outcome verb(std::vector<std::string> arguments) const;
  /// --json of the last run; empty when there is none that can be read.
  std::optional<nlohmann::json> report() const;
  /// `troupe inspect --json -` of a trace; empty when inspect refused it.
  std::optional<nlohmann::json> inspect(const std::string& trace) const;
  /// The ranks that have left their pid (TEST_PIDS), by rank; ".summed": those of sums.py that have
  /// made a sum.
  std::map<int, pid_t> rank_pids(const std::string& ending = "") const;
  /// The files a run left in TMPDIR.
  std::vector<std::string> temporary_files() const;

 private:
  std::string folder_;
};

/// What troupe itself complained of on standard error, a line each (the closing lines of a run are
/// no complaints).
std::vector<std::string> messages(const outcome& ended);

}  // namespace troupe::e2e
