#include "tools/inspect_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/saturating.hpp"

namespace troupe {
namespace {

struct traffic_pair {
  std::uint64_t bytes{};
  std::uint32_t source{}, destination{};
};

bool is_larger(const traffic_pair& a, const traffic_pair& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
}

struct traffic_pairs {
  std::vector<traffic_pair> kept;  // the largest, in the order of is_larger
  std::uint64_t pairs{}, bytes{};  // of all
};

traffic_pairs largest_pairs(const traffic_matrix& traffic, std::size_t most) {
  traffic_pairs found;
  auto keep_largest = [&] {
    const auto count = std::min(most, found.kept.size());
    std::partial_sort(found.kept.begin(), found.kept.begin() + static_cast<std::ptrdiff_t>(count),
                      found.kept.end(), is_larger);
    found.kept.resize(count);
  };
  traffic.for_each_row([&](rank_id source, std::span<const std::uint64_t> row) {
    for (std::uint32_t destination = 0; destination < row.size(); ++destination) {
      if (row[destination] == 0) continue;
      ++found.pairs;
      found.bytes = saturating_add(found.bytes, row[destination]);
      found.kept.push_back({row[destination], source.value, destination});
    }
    if (found.kept.size() > 4 * most) keep_largest();
  });
  keep_largest();
  return found;
}

std::string table(const std::vector<std::vector<std::string>>& cells) {
  std::vector<std::size_t> widths;
  for (const auto& row : cells)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? fmt::format("  {:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string cell(std::uint64_t bytes) { return bytes == 0 ? "." : human_bytes(bytes); }

// Sums over blocks of `block` ranks; with blocks of one the matrix itself.
std::string matrix_text(const traffic_matrix& traffic, std::uint32_t block) {
  const auto blocks = (traffic.world() + block - 1) / block;
  std::vector<std::vector<std::uint64_t>> sums(blocks, std::vector<std::uint64_t>(blocks));
  traffic.for_each_row([&](rank_id source, std::span<const std::uint64_t> row) {
    for (std::uint32_t destination = 0; destination < row.size(); ++destination) {
      auto& sum = sums[source.value / block][destination / block];
      sum = saturating_add(sum, row[destination]);
    }
  });
  auto label = [&](std::uint32_t at) {
    const auto last = std::min(traffic.world(), (at + 1) * block) - 1;
    return block == 1 ? std::to_string(at) : fmt::format("{}-{}", at * block, last);
  };
  std::vector<std::vector<std::string>> cells{{"from \\ to"}};
  for (std::uint32_t at = 0; at < blocks; ++at) cells[0].push_back(label(at));
  for (std::uint32_t from = 0; from < blocks; ++from) {
    cells.push_back({label(from)});
    for (auto sum : sums[from]) cells.back().push_back(cell(sum));
  }
  return table(cells);
}

bool is_continuation(char byte) { return (byte & 0xc0) == 0x80; }  // of a character in UTF-8

// What its writer said of it, where that is a line.
std::string metadata_text(const prism_trace_reader& trace) {
  constexpr std::size_t longest = 120;
  std::string text;
  for (const auto& [key, value] : trace.metadata()) {
    const auto is_control = [](unsigned char byte) { return byte < ' ' || byte == 0x7f; };
    if (value.empty() || std::any_of(value.begin(), value.end(), is_control)
        || std::any_of(key.begin(), key.end(), is_control))
      continue;
    auto end = std::min(longest, value.size());
    while (end < value.size() && end > 0 && is_continuation(value[end])) --end;
    text += fmt::format("  {:<13}  {}{}\n", key, value.substr(0, end),
                        end < value.size() ? " ..." : "");
  }
  return text;
}

std::string hex(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.995 && unit + 1 < std::size(units); value /= 1024) ++unit;
  return fmt::format("{:.2f} {}", value, units[unit]);
}

std::string human_ns(std::uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
}

nlohmann::ordered_json to_json(const prism_trace_reader& trace, const graph_summary& summary) {
  nlohmann::ordered_json all;
  all["outcome"] = to_string(errc::none);
  all["findings"] = nlohmann::ordered_json::array();
  if (trace.is_cut()) all["findings"].push_back({{"kind", "cut"}, {"text", trace.cut_text()}});
  all["world"] = summary.world;
  all["stage"] = to_string(summary.stage);
  all["nodes"] = summary.nodes;
  all["edges"] = summary.edges;
  all["communicators"] = trace.communicators().size();
  all["operations"] = nlohmann::ordered_json::object();
  for (std::size_t op = 0; op < summary.operations.size(); ++op)
    if (const auto& total = summary.operations[op]; total.count > 0)
      all["operations"][to_string(static_cast<operation>(op))] = {{"count", total.count},
                                                                  {"bytes", total.bytes}};
  all["digest"] = hex(summary.digest);
  all["digests"] = nlohmann::ordered_json::array();
  for (const auto& rank : summary.ranks) all["digests"].push_back(hex(rank.digest));
  auto traffic = largest_pairs(summary.traffic, json_traffic_pairs_max);
  std::uint64_t kept_bytes = 0;
  for (const auto& pair : traffic.kept) kept_bytes = saturating_add(kept_bytes, pair.bytes);
  if (traffic.pairs > traffic.kept.size())
    all["traffic_left_out"] = {{"pairs", traffic.pairs - traffic.kept.size()},
                               {"bytes", traffic.bytes - kept_bytes}};
  std::sort(traffic.kept.begin(), traffic.kept.end(), [](const auto& a, const auto& b) {
    return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
  });
  all["traffic"] = nlohmann::ordered_json::array();
  for (const auto& pair : traffic.kept)
    all["traffic"].push_back(
        nlohmann::ordered_json::array({pair.source, pair.destination, pair.bytes}));
  all["file_bytes"] = trace.file_bytes();
  all["bytes_per_node"] = summary.nodes == 0 ? 0.0
                                             : static_cast<double>(trace.file_bytes())
                                                   / static_cast<double>(summary.nodes);
  all["metadata"] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : trace.metadata()) all["metadata"][key] = value;
  return all;
}

std::string overview_text(const prism_trace_reader& trace, const graph_summary& summary) {
  std::uint64_t compute_ns = 0;
  for (const auto& rank : summary.ranks) compute_ns = saturating_add(compute_ns, rank.compute_ns);
  const auto nodes = static_cast<double>(std::max<std::uint64_t>(1, summary.nodes));
  auto text = fmt::format(
      "{}\n"
      "{}"
      "  world          {} ranks\n"
      "  stage          {}\n"
      "  nodes          {} ({:.2f} bytes each in the file)\n"
      "  edges          {} beside the streams' own order\n"
      "  communicators  {}\n"
      "  compute        {} of all ranks together\n"
      "  traffic        {} between ranks\n"
      "  digest         {}\n",
      trace.path(), metadata_text(trace), summary.world, to_string(summary.stage), summary.nodes,
      static_cast<double>(trace.file_bytes()) / nodes, summary.edges, trace.communicators().size(),
      human_ns(compute_ns), human_bytes(largest_pairs(summary.traffic, 1).bytes),
      hex(summary.digest));
  std::vector<std::vector<std::string>> cells{{"operation", "calls", "bytes", ""}};
  for (std::size_t op = 0; op < summary.operations.size(); ++op)
    if (const auto& total = summary.operations[op]; total.count > 0)
      cells.push_back({to_string(static_cast<operation>(op)), std::to_string(total.count),
                       std::to_string(total.bytes), human_bytes(total.bytes)});
  return cells.size() == 1 ? text + "\nno communication\n" : text + "\n" + table(cells);
}

std::string traffic_text(const graph_summary& summary) {
  constexpr std::uint32_t matrix_max = 32, blocks_max = 16;
  constexpr std::size_t listed = 20;
  const auto world = summary.traffic.world();
  if (world <= matrix_max)
    return "\ntraffic, bytes from rank to rank\n" + matrix_text(summary.traffic, 1);
  const auto block = (world + blocks_max - 1) / blocks_max;
  auto text = fmt::format("\ntraffic, bytes between blocks of {} ranks\n", block)
              + matrix_text(summary.traffic, block);
  const auto largest = largest_pairs(summary.traffic, listed);
  text += fmt::format("\nthe largest of {} pairs\n", largest.pairs);
  std::vector<std::vector<std::string>> cells{{"from", "to", "bytes", ""}};
  for (const auto& pair : largest.kept)
    cells.push_back({std::to_string(pair.source), std::to_string(pair.destination),
                     std::to_string(pair.bytes), human_bytes(pair.bytes)});
  return text + table(cells);
}

std::string ranks_text(const graph_summary& summary) {
  std::vector<std::vector<std::string>> cells{
      {"rank", "nodes", "edges", "compute", "communication", "digest"}};
  for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank) {
    const auto& part = summary.ranks[rank];
    cells.push_back({std::to_string(rank), std::to_string(part.nodes), std::to_string(part.edges),
                     human_ns(part.compute_ns), human_ns(part.communication_ns), hex(part.digest)});
  }
  return "\nranks (communication: from issue to resolution, added up)\n" + table(cells);
}

}  // namespace troupe
