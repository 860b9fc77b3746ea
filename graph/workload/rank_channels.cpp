#include "graph/workload/rank_channels.hpp"

#include <string>
#include <unordered_map>

#include "messages/assert.hpp"

namespace troupe::workload {

rank_channels::rank_channels(const llm_options& options)
    : layout_(options.layout),
      wraps_(options.virtual_stages > 1),
      ties_embeddings_(options.model.tied_embeddings),
      has_experts_(options.model.experts > 0),
      norm_group_(options.shard_optimizer || options.model.experts > 0 ? group_kind::world
                                                                       : group_kind::model) {
  std::unordered_map<std::uint64_t, std::uint32_t> twins;  // how many with these members, by id
  for (int number = 0; number < group_kind_count; ++number) {
    const auto kind = static_cast<group_kind>(number);
    auto& index = index_[static_cast<std::size_t>(number)];
    index.resize(layout_.group_count(kind), none);
    for (std::uint64_t group = 0; group < index.size(); ++group) {
      if (!is_used(kind, group)) continue;
      communicator_entry entry;
      entry.members = layout_.members(kind, group);
      entry.rules = semantics::nccl;
      entry.name = to_string(kind);
      if (index.size() > 1) entry.name += " " + std::to_string(group);
      const auto ordinal = twins[make_communicator_id(entry.members, 0).value]++;
      entry.id = make_communicator_id(entry.members, ordinal);
      index[group] = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back(std::move(entry));
    }
  }
}

bool rank_channels::is_used(group_kind kind, std::uint64_t group) const {
  if (kind == group_kind::forward) return is_open(channel::forward_out, layout_.stage_of(group));
  if (kind == group_kind::backward) return is_open(channel::backward_in, layout_.stage_of(group));
  for (int number = 0; number < channel_count; ++number)
    if (const auto what = static_cast<channel>(number); group_of(what) == kind)
      return is_open(what, 0);
  return false;
}

group_kind rank_channels::group_of(channel what) const {
  switch (what) {
    case channel::tensor:
      return group_kind::tensor;
    case channel::data:
      return group_kind::data;
    case channel::expert:
      return group_kind::expert;
    case channel::expert_tensor:
      return group_kind::expert_tensor;
    case channel::expert_data:
      return group_kind::expert_data;
    case channel::forward_in:
    case channel::forward_out:
      return group_kind::forward;
    case channel::backward_in:
    case channel::backward_out:
      return group_kind::backward;
    case channel::embedding:
      return group_kind::embedding;
    case channel::norm:
      break;
  }
  return norm_group_;
}

bool rank_channels::is_open(channel what, std::uint64_t stage) const {
  if (layout_.group_size(group_of(what)) < 2) return false;
  const bool is_first = stage == 0, is_last = stage + 1 == layout_.pp;
  switch (what) {
    case channel::expert:
    case channel::expert_tensor:
    case channel::expert_data:
      return has_experts_;
    case channel::forward_in:
    case channel::backward_out:
      return wraps_ || !is_first;
    case channel::forward_out:
    case channel::backward_in:
      return wraps_ || !is_last;
    case channel::embedding:
      return ties_embeddings_ && (is_first || is_last);
    default:
      return true;
  }
}

std::uint16_t rank_channels::stream(channel what, std::uint64_t stage) const {
  std::uint16_t stream = 1;
  for (int before = 0; before < static_cast<int>(what); ++before)
    stream += is_open(static_cast<channel>(before), stage);
  return stream;
}

std::int32_t rank_channels::peer(channel what, std::uint64_t stage) const {
  const bool is_to_next = what == channel::forward_out || what == channel::backward_in;
  const auto other = is_to_next ? (stage + 1) % layout_.pp : (stage + layout_.pp - 1) % layout_.pp;
  return other > stage ? 1 : 0;
}

std::uint32_t rank_channels::communicator(channel what, std::uint64_t rank) const {
  const bool is_from_before = what == channel::forward_in || what == channel::backward_out;
  const auto world = layout_.world();
  const auto of = is_from_before ? (rank + world - layout_.stage_ranks()) % world : rank;
  const auto kind = group_of(what);
  const auto index = index_[static_cast<std::size_t>(kind)][layout_.group_of(kind, of)];
  TROUPE_ASSERT(index != none, static_cast<int>(what), rank);
  return index;
}

}  // namespace troupe::workload
