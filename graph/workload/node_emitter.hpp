// node_emitter: a rank's nodes, written down as a program goes: work, calls, waits.
//
// Work between two events is one compute node, as in a capture (rank_graph_builder.hpp). A call
// comes after the stream-0 node before it; what was awaited comes before the work that follows.
// Nodes name channels, and sequence numbers count from 1: who uses them adds what is a rank's own.
// Invariant: edges reach back to the node before the first one at most, which is on stream 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/node_check.hpp"
#include "graph/workload/device_description.hpp"
#include "graph/workload/rank_channels.hpp"
#include "messages/assert.hpp"

namespace troupe::workload {

class node_emitter {
 public:
  explicit node_emitter(const device_description& device) : device_(device) {}

  /// What follows belongs to this call site.
  void enter(std::uint32_t call_site) {
    if (call_site != call_site_ && span_ns_ > 0) close();
    call_site_ = call_site;
  }
  void run(work what) {
    span_ns_ += device_.ns(what);
    flops_ += what.flops;
  }
  /// Ends the compute node under way.
  void close() {
    if (span_ns_ == 0 && awaited_.empty()) return;
    node compute;
    compute.kind = node_kind::compute;
    compute.call_site = call_site_;
    compute.duration_ns = static_cast<std::uint64_t>(
        std::llround(std::min(span_ns_, static_cast<double>(node_time_ns_max))));
    compute_ns_ += compute.duration_ns;
    span_ns_ = 0;
    append_to_program(std::move(compute));
  }
  /// Issues a collective, send or recv of which kind, op, type, reduce, size and peer are set. Its
  /// number, for await().
  std::uint32_t issue(channel where, node what) {
    close();
    const auto index = next();
    what.call_site = call_site_;
    what.communicator = static_cast<std::uint32_t>(where);
    what.sequence = ++calls_[static_cast<std::size_t>(where)];
    what.after = {distance(index, last_of_program_)};
    nodes_.push_back(std::move(what));
    return index;
  }
  /// Work from here on comes after it.
  void await(std::uint32_t issued) {
    if (span_ns_ > 0) close();
    awaited_.push_back(issued);
  }
  void mark(marker_kind what) {
    if (span_ns_ > 0) close();
    node marker;
    marker.kind = node_kind::marker;
    marker.marker = what;
    append_to_program(std::move(marker));
  }

  std::vector<node> take() {
    TROUPE_ASSERT(span_ns_ == 0 && awaited_.empty());
    return std::move(nodes_);
  }
  /// How many calls of each channel there were.
  const std::array<std::uint64_t, channel_count>& calls() const { return calls_; }
  double flops() const { return flops_; }
  std::uint64_t compute_ns() const { return compute_ns_; }

 private:
  std::uint32_t next() const { return static_cast<std::uint32_t>(nodes_.size()); }
  static std::uint32_t distance(std::uint32_t from, std::int64_t to) {
    return static_cast<std::uint32_t>(from - to);
  }
  void append_to_program(node what) {
    const auto index = next();
    for (auto each : awaited_) what.after.push_back(distance(index, each));
    std::sort(what.after.begin(), what.after.end());
    awaited_.clear();
    last_of_program_ = index;
    nodes_.push_back(std::move(what));
  }

  device_description device_;
  std::vector<node> nodes_;
  std::vector<std::uint32_t> awaited_;
  std::array<std::uint64_t, channel_count> calls_{};
  std::int64_t last_of_program_ = -1;
  std::uint32_t call_site_ = 0;
  double span_ns_ = 0, flops_ = 0;
  std::uint64_t compute_ns_ = 0;
};

}  // namespace troupe::workload
