#include "graph/kineto_exporter.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/graph/exported_sample.hpp"

using namespace troupe;
using nlohmann::json;

namespace {

json export_all(const execution_graph& graph) {
  return json::parse(exported<kineto_exporter>(graph, 0, graph.world - 1, std::nullopt));
}

std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

const json* find(const json& events, int pid, const std::string& name) {
  for (const auto& event : events)
    if (event["pid"] == pid && event["name"] == name) return &event;
  return nullptr;
}

}  // namespace

TEST_CASE("a Kineto timeline has every node once, at its time") {
  const auto graph = overlapping_graph();
  const auto timeline = export_all(graph);
  CHECK(timeline["distributedInfo"]["world_size"] == 4);
  CHECK_FALSE(timeline["distributedInfo"].contains("rank"));
  CHECK(timeline["distributedInfo"]["pg_config"][1]["ranks"] == json({2, 0}));
  CHECK(timeline["troupe"]["metadata"]["torch"] == "1.13.0");
  std::map<int, std::set<int>> nodes;
  for (const auto& event : timeline["traceEvents"]) {
    const bool is_marker = event["ph"] == "i";
    if ((event["ph"] != "X" && !is_marker) || event["cat"] == "slot") continue;
    const int rank = event["pid"], number = event["args"]["node"];
    REQUIRE(nodes[rank].insert(number).second);
    const auto expected = lay_out(graph.ranks[rank]);
    CHECK(ns(event["ts"]) == static_cast<std::int64_t>(expected.start_ns[number]));
    CHECK(is_marker == (graph.ranks[rank][number].kind == node_kind::marker));
    if (is_marker) continue;
    CHECK(ns(event["dur"]) == static_cast<std::int64_t>(graph.ranks[rank][number].duration_ns));
  }
  for (int rank = 0; rank < 4; ++rank) CHECK(nodes[rank].size() == graph.ranks[rank].size());
}

TEST_CASE("communication carries PyTorch's arguments") {
  const auto timeline = export_all(overlapping_graph());
  const auto* all_gather = find(timeline["traceEvents"], 3, "gloo:all_gather");
  REQUIRE(all_gather);
  const auto& args = (*all_gather)["args"];
  CHECK(args["Collective name"] == "all_gather");
  CHECK(args["In msg nelems"] == 1024);
  CHECK(args["Out msg nelems"] == 4096);
  CHECK(args["dtype"] == "Float");
  CHECK(args["Group size"] == 4);
  CHECK(args["Process Group Name"] == "0");
  CHECK(args["Process Group Description"] == "default_pg");
  CHECK(args["Process Group Ranks"] == "[0, 1, 2, 3]");
  CHECK(args["Call site"] == "train.py:42 in step");
  const auto* recv = find(timeline["traceEvents"], 2, "nccl:recv");
  REQUIRE(recv);
  CHECK((*recv)["args"]["Src Rank"] == 1);
  CHECK((*recv)["args"]["Dst Rank"] == 0);
  CHECK((*recv)["args"]["tag"] == -7);
}

TEST_CASE("nothing overlaps on one thread of a Kineto timeline") {
  const auto timeline = export_all(overlapping_graph());
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
  std::map<std::pair<int, int>, std::string> names;
  for (const auto& event : timeline["traceEvents"]) {
    const std::pair<int, int> row{event["pid"], event["tid"]};
    if (event["ph"] == "X")
      rows[row].emplace_back(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]));
    if (event["ph"] == "M" && event["name"] == "thread_name")
      REQUIRE(names.emplace(row, event["args"]["name"]).second);
  }
  std::set<std::string> seen;
  for (auto& [row, spans] : rows) {
    REQUIRE(names.count(row));
    seen.insert(names[row]);
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
  CHECK(seen
        == std::set<std::string>{"program", "stream 1: default_pg", "stream 1: default_pg, lane 1",
                                 "stream 1: default_pg, lane 2", "stream 2", "slot"});
}

TEST_CASE("every arrow begins in the span that issued and ends in the operation") {
  const auto timeline = export_all(overlapping_graph());
  std::map<int, const json*> begins;
  auto is_in_span = [&](const json& arrow, bool at_start) {
    for (const auto& event : timeline["traceEvents"])
      if (event["ph"] == "X" && event["pid"] == arrow["pid"] && event["tid"] == arrow["tid"]) {
        const auto start = ns(event["ts"]), at = ns(arrow["ts"]);
        if (at_start ? at == start : at >= start && at <= start + ns(event["dur"])) return true;
      }
    return false;
  };
  int arrows = 0;
  for (const auto& event : timeline["traceEvents"]) {
    if (event["ph"] == "s") begins[event["id"]] = &event;
    if (event["ph"] != "f") continue;
    ++arrows;
    REQUIRE(begins.count(event["id"]));
    CHECK(is_in_span(*begins[event["id"]], false));
    CHECK(is_in_span(event, true));
    CHECK(ns(event["ts"]) >= ns((*begins[event["id"]])["ts"]));
  }
  CHECK(arrows == 4 * 9 + 2 + 1);
}

TEST_CASE("a rank's slots are shown with the reasons between them") {
  const auto timeline = export_all(overlapping_graph());
  REQUIRE(find(timeline["traceEvents"], 0, "running on slot 0"));
  const auto* blocked = find(timeline["traceEvents"], 0, "blocked: collective");
  REQUIRE(blocked);
  CHECK(ns((*blocked)["ts"]) == 900);
  CHECK(ns((*blocked)["dur"]) == 49'100);
}

TEST_CASE("one rank alone is a file as PyTorch writes it") {
  const auto graph = overlapping_graph();
  const auto timeline =
      json::parse(exported<kineto_exporter>(graph, 2, 2, std::optional(rank_id{2})));
  CHECK(timeline["distributedInfo"]["rank"] == 2);
  for (const auto& event : timeline["traceEvents"]) CHECK(event["pid"] == 2);
}

TEST_CASE("times are exact however late they are") {
  auto graph = sample::small_graph();
  graph.ranks[0].front().gap_ns = 9'007'199'254'740'993;  // 2^53 + 1: no double holds it
  CHECK(exported<kineto_exporter>(graph, 0, 0, std::nullopt).find(R"("ts": 9007199254740.993)")
        != std::string::npos);
}

TEST_CASE("a long list of ranks is cut as PyTorch cuts it") {
  execution_graph graph;
  graph.world = 64;
  std::vector<std::uint32_t> members;
  for (std::uint32_t member = 0; member < 32; ++member) members.push_back(2 * member);
  graph.communicators = {sample::group(members, "even")};
  graph.call_sites = {"", "a.py:1 in f"};
  graph.ranks.resize(64);
  graph.ranks[2] = {sample::compute(5), sample::collective(operation::all_reduce, 0, 1, 4)};
  const auto timeline = json::parse(exported<kineto_exporter>(graph, 2, 2, std::nullopt));
  const auto* found = find(timeline["traceEvents"], 2, "gloo:all_reduce");
  REQUIRE(found);
  const std::string ranks = (*found)["args"]["Process Group Ranks"];
  CHECK(ranks.ends_with(", 56, 58, ...]"));
  CHECK((*found)["args"]["Global rank start"] == 0);
  CHECK((*found)["args"]["Global rank stride"] == 2);
  CHECK((*found)["args"]["Rank"] == 1);
}

TEST_CASE("names that are no valid text do not spoil the JSON") {
  auto graph = overlapping_graph();
  graph.communicators[0].name = "\xff\"\\\n\x01";
  graph.call_sites[1] = "\xc3(";
  graph.metadata = {{"\x80", "\xfe"}};
  CHECK_NOTHROW(export_all(graph));
}
