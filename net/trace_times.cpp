#include "net/trace_times.hpp"

#include <algorithm>

#include "graph/node_check.hpp"

namespace troupe {

std::vector<node> trace_times::add(rank_id, std::span<const node> nodes,
                                   std::span<const goal::node_place> places) {
  std::vector<node> made(nodes.begin(), nodes.end());
  std::map<std::uint16_t, std::uint64_t> stream_ends;
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto& what = made[i];
    const auto begin = times_.start_ns(places[i].begin), end = times_.end_ns(places[i].end);
    auto& before = stream_ends[what.stream];
    // What overlaps the node before it on its stream is cut to where that ends: a gap of 0 would
    // mean that the begin is not known (rank_timeline.hpp).
    auto start = std::max(begin, before);
    if (communicates(what.kind) && start == before && end > start) ++start;
    what.gap_ns = std::min(start - before, node_time_ns_max - 1);
    what.duration_ns = std::min(end - std::min(start, end), node_time_ns_max - 1);
    before = std::max(start, end);
    if (what.kind != node_kind::collective) continue;
    auto& met = meetings_[{what.communicator, what.sequence}];
    met.op = what.op;
    met.size = std::max(met.size, what.size);
    met.first_begin_ns = std::min(met.first_begin_ns, begin);
    met.last_begin_ns = std::max(met.last_begin_ns, begin);
    met.end_ns = std::max(met.end_ns, end);
  }
  note_markers(nodes, places);
  note_spans(nodes, places);
  return made;
}

void trace_times::note_markers(std::span<const node> nodes,
                               std::span<const goal::node_place> places) {
  const bool has_iterations = std::any_of(nodes.begin(), nodes.end(), [](const node& each) {
    return each.kind == node_kind::marker && each.marker == marker_kind::iteration;
  });
  const auto wanted = has_iterations ? marker_kind::iteration : marker_kind::optimizer_step;
  std::size_t number = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != node_kind::marker || nodes[i].marker != wanted) continue;
    if (number == iteration_ends_ns_.size()) iteration_ends_ns_.push_back(0);
    auto& end = iteration_ends_ns_[number++];
    end = std::max(end, times_.end_ns(places[i].end));
  }
}

void trace_times::note_spans(std::span<const node> nodes,
                             std::span<const goal::node_place> places) {
  rank_time made;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto end = times_.end_ns(places[i].end);
    made.finish_ns = std::max(made.finish_ns, end);
    if (nodes[i].kind == node_kind::compute)
      spans.emplace_back(times_.start_ns(places[i].begin), end);
  }
  std::sort(spans.begin(), spans.end());
  std::uint64_t busy = 0, until = 0;
  for (const auto& [start, end] : spans) {
    made.compute_ns += end - start;
    busy += std::max(end, until) - std::max(start, until);
    until = std::max(until, end);
  }
  made.exposed_ns = made.finish_ns - std::min(busy, made.finish_ns);
  ranks_.push_back(made);
}

std::vector<collective_time> trace_times::collectives() const {
  std::map<std::tuple<operation, std::uint64_t, std::uint32_t>, collective_time> found;
  for (const auto& [key, met] : meetings_) {
    const auto members = static_cast<std::uint32_t>(communicators_[key.first].members.size());
    auto& of = found[{met.op, met.size, members}];
    const auto took = met.end_ns - std::min(met.last_begin_ns, met.end_ns);
    of.op = met.op;
    of.members = members;
    of.size = met.size;
    of.least_ns = of.count == 0 ? took : std::min(of.least_ns, took);
    of.most_ns = std::max(of.most_ns, took);
    of.total_ns += took;
    of.skew_ns += met.last_begin_ns - met.first_begin_ns;
    ++of.count;
  }
  std::vector<collective_time> made;
  for (const auto& [key, each] : found) made.push_back(each);
  return made;
}

std::vector<std::uint64_t> trace_times::iterations_ns() const {
  std::vector<std::uint64_t> made;
  std::uint64_t before = 0;
  for (const auto end : iteration_ends_ns_) {
    made.push_back(end - std::min(before, end));
    before = std::max(before, end);
  }
  return made;
}

}  // namespace troupe
