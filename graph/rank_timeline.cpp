#include "graph/rank_timeline.hpp"

#include <algorithm>
#include <map>

namespace troupe {
namespace {

constexpr std::uint64_t unknown_ns = ~std::uint64_t{0};

std::uint64_t later(std::uint64_t at_ns, std::uint64_t by_ns) {
  return at_ns + std::min(by_ns, timeline_ns_max - at_ns);
}

bool is_program(const node& what) { return what.stream == 0; }

/// [node]: where the program's next node starts; unknown_ns behind the last.
std::vector<std::uint64_t> next_program_starts(std::span<const node> nodes) {
  std::vector<std::uint64_t> next(nodes.size(), unknown_ns);
  std::uint64_t end_ns = 0;
  std::size_t open = 0;  // from here on the next start is not known yet
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_program(nodes[i])) continue;
    const auto start = later(end_ns, nodes[i].gap_ns);
    for (; open < i; ++open) next[open] = start;
    end_ns = later(start, nodes[i].duration_ns);
  }
  return next;
}

/// The rows of one stream, once all its nodes have a start.
struct stream_nodes {
  std::vector<std::size_t> nodes;
  std::uint64_t end_ns = 0;  // of the latest
};

void put_on_rows(std::uint16_t number, const stream_nodes& stream, std::span<const node> nodes,
                 rank_timeline& made) {
  auto order = stream.nodes;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return made.start_ns[a] < made.start_ns[b]; });
  timeline_row row{number, 0, 0, false};
  for (auto i : stream.nodes)
    if (communicates(nodes[i].kind)) {
      row.communicator = nodes[i].communicator;
      row.has_communicator = true;
      break;
    }
  const auto first = static_cast<std::uint32_t>(made.rows.size());
  timeline_lanes lanes;
  for (auto i : order) made.row[i] = first + lanes.take(made.start_ns[i], made.end_ns[i]);
  for (; row.lane < lanes.count(); ++row.lane) made.rows.push_back(row);
}

}  // namespace

std::uint32_t timeline_lanes::take(std::uint64_t start_ns, std::uint64_t end_ns) {
  for (; !busy_.empty() && busy_.top().first <= start_ns; busy_.pop())
    free_.push(busy_.top().second);
  std::uint32_t lane = count_;
  if (free_.empty()) {
    ++count_;
  } else {
    lane = free_.top();
    free_.pop();
  }
  busy_.emplace(end_ns, lane);
  return lane;
}

rank_timeline lay_out(std::span<const node> nodes) {
  rank_timeline made;
  made.start_ns.reserve(nodes.size());
  made.end_ns.reserve(nodes.size());
  made.row.resize(nodes.size());
  const auto next_program_start = next_program_starts(nodes);
  std::map<std::uint16_t, stream_nodes> streams;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& what = nodes[i];
    auto& stream = streams[what.stream];
    auto start = later(stream.end_ns, what.gap_ns);
    if (what.gap_ns == 0 && communicates(what.kind) && !is_program(what) && !what.after.empty()) {
      start = next_program_start[i];
      if (start == unknown_ns) {
        start = 0;
        for (auto distance : what.after)
          if (distance <= i) start = std::max(start, made.end_ns[i - distance]);
      }
    }
    made.start_ns.push_back(start);
    made.end_ns.push_back(later(start, what.duration_ns));
    stream.nodes.push_back(i);
    stream.end_ns = made.end_ns.back();
  }
  for (const auto& [number, stream] : streams) put_on_rows(number, stream, nodes, made);
  return made;
}

std::vector<slot_span> slot_spans(std::span<const slot_interval> of_one_rank) {
  std::vector<slot_interval> sorted(of_one_rank.begin(), of_one_rank.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  std::vector<slot_span> spans;
  for (const auto& interval : sorted) {
    auto start = std::min(interval.start_ns, timeline_ns_max);
    const auto end = std::min(interval.end_ns, timeline_ns_max);
    if (end < start) continue;
    if (!spans.empty()) {
      const auto before = spans.back().end_ns;
      if (end <= before && start < before) continue;
      start = std::max(start, before);
      if (start > before) spans.push_back({false, {}, spans.back().why, before, start});
    }
    spans.push_back({true, interval.slot, interval.why, start, end});
  }
  return spans;
}

}  // namespace troupe
