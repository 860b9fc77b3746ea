#include "graph/traffic_matrix.hpp"

#include <algorithm>

#include "graph/saturating.hpp"
#include "messages/assert.hpp"

namespace troupe {

traffic_matrix::traffic_matrix(std::uint32_t world,
                               std::span<const communicator_entry> communicators)
    : rows_(world), communicators_(communicators) {}

void traffic_matrix::add(rank_id source, rank_id destination, std::uint64_t bytes) {
  TROUPE_ASSERT(source.value < rows_.size() && destination.value < rows_.size(), source.value,
                destination.value);
  if (bytes == 0) return;
  auto& sum = rows_[source.value].to_rank[destination.value];
  sum = saturating_add(sum, bytes);
}

void traffic_matrix::add_to_others(rank_id source, std::uint32_t communicator,
                                   std::uint64_t bytes) {
  TROUPE_ASSERT(source.value < rows_.size() && communicator < communicators_.size(), source.value,
                communicator);
  if (bytes == 0) return;
  auto& sum = rows_[source.value].to_others_of[communicator];
  sum = saturating_add(sum, bytes);
}

void traffic_matrix::for_each_row(const row_visitor& visit) const {
  std::vector<std::uint64_t> dense(rows_.size());
  for (std::uint32_t source = 0; source < rows_.size(); ++source) {
    const auto& row = rows_[source];
    if (row.to_rank.empty() && row.to_others_of.empty()) continue;
    std::fill(dense.begin(), dense.end(), 0);
    for (auto [destination, bytes] : row.to_rank) dense[destination] = bytes;
    for (auto [communicator, bytes] : row.to_others_of)
      for (auto member : communicators_[communicator].members)
        if (member.value != source)
          dense[member.value] = saturating_add(dense[member.value], bytes);
    visit({source}, dense);
  }
}

}  // namespace troupe
