#include "graph/rank_graph_builder.hpp"

#include <algorithm>

#include "messages/assert.hpp"

namespace troupe {

rank_graph_builder::rank_graph_builder(std::uint64_t at_ns)
    : latest_ns_(at_ns), span_start_ns_(at_ns), running_since_ns_(at_ns) {
  append_marker(marker_kind::start, at_ns, {});
}

// Two processes' clock readings meet here: a later event may carry a slightly earlier time.
std::uint64_t rank_graph_builder::advance(std::uint64_t at_ns) {
  return latest_ns_ = std::max(latest_ns_, at_ns);
}

std::uint32_t rank_graph_builder::append(node what, std::uint64_t start_ns, bool is_final) {
  const auto index = taken_ + static_cast<std::uint32_t>(pending_.size());
  auto& stream = streams_[what.stream];
  what.gap_ns = stream.is_final && start_ns > stream.end_ns ? start_ns - stream.end_ns : 0;
  stream = {index, start_ns + what.duration_ns, is_final};
  pending_.push_back({std::move(what), start_ns, is_final});
  return index;
}

void rank_graph_builder::close_compute(std::uint64_t at_ns) {
  if (running_) compute_ns_ += at_ns - running_since_ns_;
  node compute;
  compute.kind = node_kind::compute;
  compute.duration_ns = compute_ns_;
  const auto index = taken_ + static_cast<std::uint32_t>(pending_.size());
  for (auto awaited : awaited_) compute.after.push_back(index - awaited);
  std::sort(compute.after.begin(), compute.after.end());
  awaited_.clear();
  append(std::move(compute), span_start_ns_, true);
}

void rank_graph_builder::begin_compute(std::uint64_t at_ns) {
  span_start_ns_ = running_since_ns_ = at_ns;
  compute_ns_ = 0;
}

void rank_graph_builder::append_marker(marker_kind what, std::uint64_t at_ns,
                                       std::vector<std::uint32_t> joined) {
  node marker;
  marker.kind = node_kind::marker;
  marker.marker = what;
  const auto index = taken_ + static_cast<std::uint32_t>(pending_.size());
  for (auto operation : joined) marker.after.push_back(index - operation);
  std::sort(marker.after.begin(), marker.after.end());
  append(std::move(marker), at_ns, true);
}

void rank_graph_builder::issued(operation_id operation, node what, bool as_future,
                                std::uint64_t at_ns) {
  at_ns = advance(at_ns);
  close_compute(at_ns);
  what.duration_ns = 0;
  what.after.clear();
  if (what.stream != 0) what.after.push_back(1);
  const bool is_new =
      open_.emplace(operation, open_operation{append(std::move(what), at_ns, false), as_future})
          .second;
  TROUPE_ASSERT(is_new, operation.value);
  begin_compute(at_ns);
}

void rank_graph_builder::taken_as_future(operation_id operation) {
  if (auto found = open_.find(operation); found != open_.end()) found->second.as_future = true;
}

void rank_graph_builder::resolved(operation_id operation, std::uint64_t at_ns) {
  if (ended_) return;
  auto found = open_.find(operation);
  TROUPE_ASSERT(found != open_.end() && !found->second.resolved, operation.value);
  const auto index = found->second.index;
  auto& entry = pending_[index - taken_];
  entry.what.duration_ns = at_ns > entry.start_ns ? at_ns - entry.start_ns : 0;
  entry.is_final = true;
  auto& stream = streams_[entry.what.stream];
  if (stream.last == index) stream = {index, entry.start_ns + entry.what.duration_ns, true};
  found->second.resolved = true;
  if (found->second.awaited) open_.erase(found);
}

void rank_graph_builder::awaited(const std::vector<operation_id>& operations, std::uint64_t at_ns) {
  std::vector<std::uint32_t> indices;
  for (auto operation : operations) {
    auto found = open_.find(operation);
    if (found == open_.end() || found->second.awaited) continue;
    indices.push_back(found->second.index);
    found->second.awaited = true;
    if (found->second.resolved) open_.erase(found);
  }
  if (indices.empty()) return;
  at_ns = advance(at_ns);
  close_compute(at_ns);
  awaited_ = std::move(indices);
  begin_compute(at_ns);
}

void rank_graph_builder::marked(marker_kind what, std::uint64_t at_ns) {
  at_ns = advance(at_ns);
  close_compute(at_ns);
  std::vector<std::uint32_t> joined;
  if (what == marker_kind::backward_end || what == marker_kind::optimizer_step) {
    for (auto it = open_.begin(); it != open_.end();) {
      if (it->second.as_future && !it->second.awaited) {
        joined.push_back(it->second.index);
        it->second.awaited = true;
      }
      it = it->second.awaited && it->second.resolved ? open_.erase(it) : std::next(it);
    }
  }
  append_marker(what, at_ns, std::move(joined));
  begin_compute(at_ns);
}

void rank_graph_builder::copied(std::uint64_t size, std::uint64_t duration_ns,
                                std::uint64_t at_ns) {
  constexpr std::uint64_t duration_max = 1'000'000'000'000'000'000;  // ends stay in 64 bits
  at_ns = advance(at_ns);
  close_compute(at_ns);
  node copy;
  copy.kind = node_kind::copy;
  copy.size = size;
  copy.duration_ns = std::min(duration_ns, duration_max);
  append(std::move(copy), at_ns, true);
  begin_compute(at_ns);
}

void rank_graph_builder::blocked(std::uint64_t at_ns) {
  if (!running_) return;
  at_ns = advance(at_ns);
  compute_ns_ += at_ns - running_since_ns_;
  running_ = false;
}

void rank_graph_builder::resumed(std::uint64_t at_ns) {
  if (running_) return;
  at_ns = advance(at_ns);
  running_since_ns_ = at_ns;
  if (compute_ns_ == 0) span_start_ns_ = at_ns;
  running_ = true;
}

void rank_graph_builder::ended(std::uint64_t at_ns) {
  at_ns = advance(at_ns);
  close_compute(at_ns);
  append_marker(marker_kind::end, at_ns, {});
  for (auto& [operation, what] : open_) {
    if (what.resolved) continue;
    auto& entry = pending_[what.index - taken_];
    entry.what.duration_ns = at_ns > entry.start_ns ? at_ns - entry.start_ns : 0;
    entry.is_final = true;
  }
  open_.clear();
  ended_ = true;
}

std::vector<node> rank_graph_builder::take() {
  std::vector<node> done;
  while (!pending_.empty() && pending_.front().is_final) {
    done.push_back(std::move(pending_.front().what));
    pending_.pop_front();
    ++taken_;
  }
  return done;
}

}  // namespace troupe
