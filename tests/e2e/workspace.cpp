#include "tests/e2e/workspace.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "messages/assert.hpp"

namespace troupe::e2e {

namespace fs = std::filesystem;

std::string test_program(const std::string& name) { return TEST_PROGRAMS "/" + name; }

std::string python() { return TEST_PYTHON; }

bool skipped_without_torch() {
  if (run({python(), "-c", "import torch"}).status == 0) return false;
  std::cout << "SKIPPED: " << python() << " cannot import torch (apt install python3-torch)\n";
  return true;
}

workspace::workspace() {
  auto pattern = (fs::temp_directory_path() / "troupe-test-XXXXXX").string();
  TROUPE_ASSERT(mkdtemp(pattern.data()) != nullptr, pattern);
  folder_ = pattern;
  fs::create_directory(file("pids"));
  fs::create_directory(file("tmp"));
}

workspace::~workspace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> workspace::troupe(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), TEST_TROUPE);
  return arguments;
}

std::vector<std::string> workspace::troupe_run(const run_options& options) const {
  auto words = troupe(
      {"run", "--world", std::to_string(options.world), "--slots", std::to_string(options.slots)});
  const auto& trace_file = options.trace_file.empty() ? trace() : options.trace_file;
  if (options.trace) words.insert(words.end(), {"--trace", trace_file});
  if (options.report) words.insert(words.end(), {"--json", file("report.json")});
  words.push_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  return words;
}

command_options workspace::environment(std::chrono::milliseconds timeout) const {
  return {.environment = {{"TEST_CLIENT", TEST_CLIENT},
                          {"TEST_PIDS", file("pids")},
                          {"TMPDIR", file("tmp")}},
          .folder = folder_,
          .timeout = timeout};
}

outcome workspace::run(const run_options& options) const {
  return e2e::run(troupe_run(options), environment());
}

outcome workspace::verb(std::vector<std::string> arguments) const {
  return e2e::run(troupe(std::move(arguments)), environment());
}

std::optional<nlohmann::json> workspace::report() const {
  std::ifstream file(this->file("report.json"));
  auto parsed = nlohmann::json::parse(file, nullptr, false);
  if (parsed.is_discarded()) return {};
  return parsed;
}

std::optional<nlohmann::json> workspace::inspect(const std::string& trace) const {
  const auto ended = verb({"inspect", trace, "--json", "-"});
  auto parsed = nlohmann::json::parse(ended.out, nullptr, false);
  if (ended.status != 0 || parsed.is_discarded()) return {};
  return parsed;
}

std::map<int, pid_t> workspace::rank_pids(const std::string& ending) const {
  std::map<int, pid_t> pids;
  for (const auto& entry : fs::directory_iterator(file("pids"))) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(".") || !name.ends_with(ending)) continue;
    if (ending.empty() && name.find('.') != std::string::npos) continue;
    pid_t pid = 0;
    std::ifstream(entry.path()) >> pid;
    pids[std::stoi(name)] = pid;
  }
  return pids;
}

std::vector<std::string> workspace::temporary_files() const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(file("tmp"))) found.push_back(entry.path());
  return found;
}

std::vector<std::string> messages(const outcome& ended) {
  static const std::regex own("troupe( [a-z]+)?: .*"),
      closing("troupe: (done: |trace: |tensors: |[0-9]+ ranks on ).*");
  std::vector<std::string> found;
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, own) && !std::regex_match(line, closing)) found.push_back(line);
  return found;
}

}  // namespace troupe::e2e
