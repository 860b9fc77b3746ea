// graph_executor: runs an execution graph over the rules of communication and nothing else: a
// collective ends when its last member is there, a send when its recv is (and the other way
// round), messages take no time. What does not fit is written down; what never runs too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "graph/execution_graph.hpp"

namespace troupe {

struct execution {
  std::vector<std::string> wrong;  ///< mismatches, and ranks that did not end
  std::uint64_t finish_ns{};
};

class graph_executor {
 public:
  explicit graph_executor(const execution_graph& graph) : graph_(graph) {
    for (const auto& nodes : graph.ranks) {
      auto& rank = ranks_.emplace_back();
      rank.end_ns.resize(nodes.size(), unknown);
      rank.joined.resize(nodes.size());
      rank.before.resize(nodes.size(), unknown);
      std::map<std::uint16_t, std::size_t> last;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (auto found = last.find(nodes[i].stream); found != last.end())
          rank.before[i] = found->second;
        last[nodes[i].stream] = i;
      }
    }
  }

  execution run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) moved = advance(rank) || moved;
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].first_open < graph_.ranks[rank].size())
        say(rank, ranks_[rank].first_open, "never runs");
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  struct rank_state {
    std::vector<std::uint64_t> end_ns, before;
    std::vector<bool> joined;
    std::size_t first_open = 0;
  };
  struct meeting {
    std::vector<std::pair<std::uint32_t, std::size_t>> nodes;
    std::uint64_t start_ns = 0;
  };
  // communicator, sequence, and of messages source, destination (group ranks), tag
  using key = std::tuple<std::uint32_t, std::uint64_t, std::int64_t, std::int64_t, std::int32_t>;

  void say(std::uint32_t rank, std::size_t at, const std::string& what) {
    const auto& node = graph_.ranks[rank][at];
    found_.wrong.push_back(
        "rank " + std::to_string(rank) + ", node " + std::to_string(at) + " ("
        + to_string(node.kind) + " " + to_string(node.op) + " on "
        + (communicates(node.kind) ? graph_.communicators[node.communicator].name : "program")
        + " #" + std::to_string(node.sequence) + "): " + what);
  }

  std::uint64_t ready(std::uint32_t rank, std::size_t at) const {
    const auto& state = ranks_[rank];
    std::uint64_t time = 0;
    if (state.before[at] != unknown) time = state.end_ns[state.before[at]];
    for (auto distance : graph_.ranks[rank][at].after)
      time = std::max(time, distance > at ? unknown : state.end_ns[at - distance]);
    return time;
  }

  bool advance(std::uint32_t rank) {
    bool moved = false;
    auto& state = ranks_[rank];
    const auto& nodes = graph_.ranks[rank];
    for (auto at = state.first_open; at < nodes.size(); ++at) {
      if (state.joined[at]) continue;
      const auto time = ready(rank, at);
      if (time == unknown) continue;
      state.joined[at] = moved = true;
      communicates(nodes[at].kind) ? join(rank, at, time)
                                   : end(rank, at, time + nodes[at].duration_ns);
    }
    while (state.first_open < nodes.size() && state.end_ns[state.first_open] != unknown)
      ++state.first_open;
    return moved;
  }

  void end(std::uint32_t rank, std::size_t at, std::uint64_t time) {
    ranks_[rank].end_ns[at] = time;
    found_.finish_ns = std::max(found_.finish_ns, time);
  }

  void join(std::uint32_t rank, std::size_t at, std::uint64_t time) {
    const auto& what = graph_.ranks[rank][at];
    const auto& members = graph_.communicators[what.communicator].members;
    const auto own = std::find(members.begin(), members.end(), rank_id{rank}) - members.begin();
    if (own == static_cast<std::ptrdiff_t>(members.size())) say(rank, at, "is no member");
    const bool is_collective = what.kind == node_kind::collective;
    const auto source = what.kind == node_kind::send ? own : what.peer;
    const auto destination = what.kind == node_kind::send ? what.peer : own;
    const key place = is_collective
                          ? key{what.communicator, what.sequence, -1, -1, 0}
                          : key{what.communicator, what.sequence, source, destination, what.tag};
    auto& meeting = meetings_[place];
    meeting.start_ns = std::max(meeting.start_ns, time);
    for (auto [other, node] : meeting.nodes) {
      const auto& theirs = graph_.ranks[other][node];
      const bool may_be_uneven = what.op == operation::all_to_all && theirs.op == what.op;
      const bool fits = is_collective ? theirs.op == what.op : theirs.kind != what.kind;
      if (!fits || (theirs.size != what.size && !may_be_uneven) || theirs.type != what.type
          || theirs.reduce != what.reduce || other == rank)
        say(rank, at, "does not fit rank " + std::to_string(other) + "'s");
    }
    meeting.nodes.emplace_back(rank, at);
    if (meeting.nodes.size() < (is_collective ? members.size() : 2)) return;
    for (auto [each, node] : meeting.nodes) end(each, node, meeting.start_ns);
  }

  const execution_graph& graph_;
  std::vector<rank_state> ranks_;
  std::map<key, meeting> meetings_;
  execution found_;
};

inline execution execute(const execution_graph& graph) { return graph_executor(graph).run(); }

}  // namespace troupe
