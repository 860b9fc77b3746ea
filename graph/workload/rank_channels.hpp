// rank_channels: the communicators of a step, and which of them a rank uses for what.
//
// A rank names a communicator by its use, a channel: ranks of one pipeline stage then have the same
// nodes, and differ in where the channels lead. Each channel has a stream of its own. Between two
// stages activations and gradients have a communicator each: messages of one never wait for those
// of the other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/workload/llm_options.hpp"

namespace troupe::workload {

enum class channel : std::uint8_t {
  tensor,
  data,
  expert,
  expert_tensor,
  expert_data,
  forward_in,    ///< activations from the stage before
  forward_out,   ///< activations to the next stage
  backward_in,   ///< their gradients, from the next stage
  backward_out,  ///< gradients to the stage before
  embedding,     ///< gradients of tied embeddings
  norm           ///< of all gradients: of a replica's ranks; with experts or shards, of the world's
};
constexpr int channel_count = 11;

class rank_channels {
 public:
  explicit rank_channels(const llm_options& options);

  /// Each with at least two members; the trace's table.
  const std::vector<communicator_entry>& communicators() const { return entries_; }
  /// Index of the rank's communicator. There is one: is_open().
  std::uint32_t communicator(channel what, std::uint64_t rank) const;
  /// Do the ranks of the stage have such a channel?
  bool is_open(channel what, std::uint64_t stage) const;
  /// 1 and up, of those that are open.
  std::uint16_t stream(channel what, std::uint64_t stage) const;
  /// The other stage's place in a group of two.
  std::int32_t peer(channel what, std::uint64_t stage) const;

 private:
  group_kind group_of(channel what) const;
  bool is_used(group_kind kind, std::uint64_t group) const;

  parallel_layout layout_;
  bool wraps_, ties_embeddings_, has_experts_;  // wraps: the last stage sends to the first
  group_kind norm_group_;
  static constexpr std::uint32_t none = 0xffffffff;
  std::array<std::vector<std::uint32_t>, group_kind_count> index_;  // [kind][group]
  std::vector<communicator_entry> entries_;
};

}  // namespace troupe::workload
