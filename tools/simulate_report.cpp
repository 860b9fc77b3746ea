#include "tools/simulate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/inspect_report.hpp"

namespace troupe {
namespace {

constexpr std::size_t hosts_shown_max = 16;

nlohmann::ordered_json object_of(const stall_finding& what) {
  nlohmann::ordered_json made{{"kind", to_string(what.kind)},
                              {"ranks", what.ranks},
                              {"operations", what.operations},
                              {"count", what.count}};
  if (!what.cycle.empty()) made["cycle"] = what.cycle;
  made["text"] = what.text;
  return made;
}

nlohmann::ordered_json net_of(const network_model& model) {
  nlohmann::ordered_json made;
  for (const auto& [name, value] : model.description()) {
    const auto number = nlohmann::ordered_json::parse(value, nullptr, false);
    made[name] = number.is_number() ? number : nlohmann::ordered_json(value);
  }
  return made;
}

}  // namespace

errc outcome_of(const simulation_result& of) {
  return of.findings.empty() ? errc::none : of.findings.front().kind;
}

std::string net_text(const network_model& model) {
  std::string text;
  for (const auto& [name, value] : model.description())
    text += (text.empty() ? "" : " ") + name + " " + value;
  return text;
}

nlohmann::ordered_json to_json(const simulated_run& run) {
  const auto& result = run.result;
  const auto outcome = outcome_of(result);
  nlohmann::ordered_json made{{"outcome", outcome == errc::none ? "done" : to_string(outcome)},
                              {"findings", nlohmann::ordered_json::array()},
                              {"warnings", nlohmann::ordered_json::array()}};
  for (const auto& each : result.findings) made["findings"].push_back(object_of(each));
  for (const auto& each : result.warnings)
    made["warnings"].push_back({{"kind", each.kind}, {"count", each.count}, {"text", each.text}});
  made["input"] = run.input;
  made["world"] = result.hosts_ns.size();
  made["finish_ns"] = result.finish_ns;
  made["hosts_ns"] = result.hosts_ns;
  made["operations"] = result.operations;
  made["ended"] = result.ended;
  made["matched"] = result.matched;
  made["net"] = net_of(run.model);
  made["wall_ns"] = run.wall_ns;
  made["cpu_ns"] = run.cpu_ns;
  return made;
}

std::string text_of(const simulated_run& run, bool all_hosts) {
  const auto& result = run.result;
  const auto& hosts = result.hosts_ns;
  auto text = fmt::format("{}: {} ranks, {} operations, {} messages\n", run.input, hosts.size(),
                          result.operations, result.matched);
  text += net_text(run.model) + "\n";
  const auto last = std::max_element(hosts.begin(), hosts.end()) - hosts.begin();
  const auto first = std::min_element(hosts.begin(), hosts.end()) - hosts.begin();
  text +=
      fmt::format("finish  {} ns ({}) at host {}; the first is host {}, {} ns\n", result.finish_ns,
                  human_ns(result.finish_ns), last, first, hosts[static_cast<std::size_t>(first)]);
  if (all_hosts || hosts.size() <= hosts_shown_max)
    for (std::size_t i = 0; i < hosts.size(); ++i)
      text += fmt::format("  host {:<6} {} ns\n", i, hosts[i]);
  if (!result.findings.empty())
    text += fmt::format("{} of {} operations ended\n", result.ended, result.operations);
  return text;
}

}  // namespace troupe
