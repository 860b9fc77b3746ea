#include "tools/run_report.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace troupe {
namespace {

std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, std::uint64_t hundredth) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, sorted.size() * hundredth / 100)];
}

std::vector<std::uint32_t> numbers(const std::vector<rank_id>& ranks) {
  std::vector<std::uint32_t> all;
  for (auto rank : ranks) all.push_back(rank.value);
  return all;
}

/// As a shell says it: the exit status, or minus the signal.
int exit_of(std::int32_t wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : -1;
}

nlohmann::ordered_json to_json(const std::vector<finding>& findings) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& found : findings)
    all.push_back({{"kind", to_string(found.kind)},
                   {"ranks", numbers(found.ranks)},
                   {"communicator", fmt::format("{:016x}", found.communicator.value)},
                   {"sequence", found.sequence.value},
                   {"operations", found.operations},
                   {"call_sites", found.call_sites},
                   {"cycle", numbers(found.cycle)},
                   {"text", found.text}});
  return all;
}

nlohmann::ordered_json or_null(std::optional<std::uint64_t> number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

/// The rank that has most of what some may not have counted; null when none has.
const rank_summary* largest(const job_report& report,
                            std::optional<std::uint64_t> rank_summary::*what) {
  const rank_summary* found = nullptr;
  for (const auto& rank : report.ranks)
    if (rank.*what && (!found || *(rank.*what) > *(found->*what))) found = &rank;
  return found;
}

/// Logical ranks: the processes' leads and their companions.
std::size_t world_of(const run_account& run) {
  return std::max<std::size_t>(run.report.ranks.size(), run.processes);
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

nlohmann::ordered_json to_json(const run_account& run) {
  nlohmann::ordered_json all;
  all["outcome"] = to_string(run.report.outcome);
  all["findings"] = to_json(run.report.findings);
  all["warnings"] = to_json(run.report.warnings);
  all["world"] = world_of(run);
  all["processes"] = run.processes;
  all["slots"] = run.slots;
  all["tensor_memory_bytes"] =
      or_null(run.tensor_bytes_max ? std::optional(run.tensor_bytes_max) : std::nullopt);
  all["wall_ns"] = run.report.wall_ns;
  all["switches"] = run.report.switches;
  all["switches_least"] = run.tables.switches_least(run.processes, run.slots);
  all["switch_ns"] = {{"p50", percentile(run.report.switch_ns, 50)},
                      {"p99", percentile(run.report.switch_ns, 99)}};
  all["operations"] = nlohmann::ordered_json::object();
  for (const auto& [op, count] : run.tables.operations())
    all["operations"][to_string(op)] = {{"count", count.count}, {"bytes", count.size_bytes}};
  all["ranks"] = nlohmann::ordered_json::array();
  for (const auto& rank : run.report.ranks)
    all["ranks"].push_back({{"rank", rank.rank.value},
                            {"process", rank.lead.value},
                            {"exit", exit_of(rank.wait_status)},
                            {"cpu_ns", rank.cpu_ns},
                            {"blocked_ns", rank.blocked_ns},
                            {"switches", rank.switches},
                            {"peak_bytes", rank.peak_bytes},
                            {"tensor_peak_bytes", or_null(rank.tensor_peak_bytes)},
                            {"device_peak_bytes", or_null(rank.device_peak_bytes)},
                            {"device_fragmented_bytes", or_null(rank.device_fragmented_bytes)}});
  all["runner_cpu_ns"] = run.runner_cpu_ns;
  all["trace"] = run.trace;
  all["trace_bytes"] = run.report.trace_bytes;
  return all;
}

std::string summary(const run_account& run) {
  std::string text;
  if (run.report.outcome != errc::none) {
    const auto& findings = run.report.findings;
    text = findings.empty() ? sentence(run.report.outcome) : findings.front().text;
    text = fmt::format("{}: {}\n", to_string(run.report.outcome), text);
  }
  text += fmt::format("{}{} ranks on {} slots, {:.2f} s, {} collectives, {} switches",
                      run.report.outcome == errc::none ? "done: " : "", world_of(run), run.slots,
                      static_cast<double>(run.report.wall_ns) / 1e9, run.tables.collectives.load(),
                      run.report.switches);
  if (const auto* rank = largest(run.report, &rank_summary::tensor_peak_bytes)) {
    text += fmt::format("\ntensors: {} at most, in rank {}", mebibytes(*rank->tensor_peak_bytes),
                        rank->rank.value);
    if (run.tensor_bytes_max)
      text += fmt::format(" (of {} a rank)", mebibytes(run.tensor_bytes_max));
  }
  if (const auto* rank = largest(run.report, &rank_summary::device_peak_bytes))
    text += fmt::format("\ndevice memory: {} at most, in the process of rank {}",
                        mebibytes(*rank->device_peak_bytes), rank->rank.value);
  if (!run.trace.empty())
    text += fmt::format("\ntrace: {} ({} bytes)", run.trace, run.report.trace_bytes);
  return text;
}

bool capacity_was_idle(const run_account& run) {
  return run.tensor_bytes_max && !largest(run.report, &rank_summary::tensor_peak_bytes);
}

}  // namespace troupe
