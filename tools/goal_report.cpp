#include "tools/goal_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "graph/saturating.hpp"
#include "tools/goal_input.hpp"
#include "tools/inspect_report.hpp"
#include "tools/json_output.hpp"

namespace troupe {
namespace {

using goal::operation_kind;

struct tally {
  std::uint64_t count = 0, sum = 0;  ///< bytes, or ns of calcs
  void add(std::uint64_t size) {
    ++count;
    sum = saturating_add(sum, size);
  }
};

struct rank_tally {
  std::array<tally, 4> of;  // [operation_kind]
  const tally& operator[](operation_kind kind) const { return of[static_cast<std::size_t>(kind)]; }
};

struct pair_traffic {
  std::uint32_t source, destination;
  std::uint64_t bytes;
};

struct goal_summary {
  rank_tally all;
  std::vector<rank_tally> ranks;
  std::vector<pair_traffic> pairs;  // the largest first
};

goal_summary summary_of(const goal::schedule& schedule) {
  goal_summary made;
  made.ranks.resize(schedule.ranks());
  std::map<std::uint32_t, std::uint64_t> to;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    to.clear();
    for (auto i = schedule.first_of(rank); i < schedule.first_of(rank + 1); ++i) {
      const auto& what = schedule[i];
      made.ranks[rank].of[static_cast<std::size_t>(what.kind)].add(what.size);
      made.all.of[static_cast<std::size_t>(what.kind)].add(what.size);
      if (what.kind == operation_kind::send)
        to[what.peer] = saturating_add(to[what.peer], what.size);
    }
    for (const auto& [peer, bytes] : to) made.pairs.push_back({rank, peer, bytes});
  }
  std::stable_sort(made.pairs.begin(), made.pairs.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return made;
}

nlohmann::ordered_json json_of(const goal::schedule& schedule, const goal_summary& summary) {
  nlohmann::ordered_json made{
      {"outcome", "done"},         {"findings", nlohmann::ordered_json::array()},
      {"world", schedule.ranks()}, {"stage", "schedule"},
      {"nodes", schedule.size()},  {"edges", schedule.dependency_count()}};
  auto& operations = made["operations"];
  for (const auto kind : {operation_kind::send, operation_kind::recv})
    operations[to_string(kind)] = {{"count", summary.all[kind].count},
                                   {"bytes", summary.all[kind].sum}};
  operations["calc"] = {{"count", summary.all[operation_kind::calc].count},
                        {"total_ns", summary.all[operation_kind::calc].sum}};
  made["cpu_max"] = schedule.cpu_max();
  made["nic_max"] = schedule.nic_max();
  auto& traffic = made["traffic"] = nlohmann::ordered_json::array();
  std::uint64_t left_out = 0, left_out_bytes = 0;
  for (const auto& pair : summary.pairs) {
    if (traffic.size() < json_traffic_pairs_max) {
      traffic.push_back({pair.source, pair.destination, pair.bytes});
      continue;
    }
    ++left_out;
    left_out_bytes = saturating_add(left_out_bytes, pair.bytes);
  }
  if (left_out > 0) made["traffic_left_out"] = {{"pairs", left_out}, {"bytes", left_out_bytes}};
  return made;
}

std::string text_of(const goal_inspection& what, const goal::schedule& schedule,
                    const goal_summary& summary) {
  constexpr std::size_t pairs_shown_max = 32;
  const auto line = [](const rank_tally& of) {
    return fmt::format("{} sends, {}; {} recvs, {}; {} calcs, {}", of[operation_kind::send].count,
                       human_bytes(of[operation_kind::send].sum), of[operation_kind::recv].count,
                       human_bytes(of[operation_kind::recv].sum), of[operation_kind::calc].count,
                       human_ns(of[operation_kind::calc].sum));
  };
  auto text = fmt::format("{}: GOAL schedule of {} ranks, {} operations, {} dependencies\n  {}\n",
                          what.file, schedule.ranks(), schedule.size(), schedule.dependency_count(),
                          line(summary.all));
  if (what.traffic) {
    text += "traffic, the largest pairs:\n";
    for (std::size_t i = 0; i < std::min(pairs_shown_max, summary.pairs.size()); ++i)
      text += fmt::format("  {} -> {}  {}\n", summary.pairs[i].source, summary.pairs[i].destination,
                          human_bytes(summary.pairs[i].bytes));
    if (summary.pairs.size() > pairs_shown_max)
      text += fmt::format("  … {} pairs in all\n", summary.pairs.size());
  }
  if (what.ranks)
    for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank)
      text += fmt::format("  rank {}: {}\n", rank, line(summary.ranks[rank]));
  return text;
}

}  // namespace

int inspect_goal(const goal_inspection& what) {
  auto findings = nlohmann::ordered_json::array();
  const auto complain = [](const error& why) {
    std::fprintf(stderr, "troupe inspect: %s\n", to_string(why).c_str());
    return exit_status(why.code);
  };
  const auto schedule = read_goal("inspect", what.file, findings);
  if (!schedule) {
    const auto code = schedule.error().code;
    if (auto written =
            write_json(what.json, {{"outcome", to_string(code)}, {"findings", findings}});
        !written)
      complain(written.error());
    return exit_status(code);
  }
  const auto summary = summary_of(*schedule);
  if (auto written = write_json(what.json, json_of(*schedule, summary)); !written)
    return complain(written.error());
  if (what.json == "-") return 0;
  const auto text = text_of(what, *schedule, summary);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return complain({errc::no_resources, "cannot write to standard output"});
  return 0;
}

}  // namespace troupe
