#include "actors/collective_execution.hpp"

#include "actors/collective_result.hpp"
#include "messages/assert.hpp"

namespace troupe {

collective_execution::collective_execution(backend& memory, payload_pools& pools,
                                           const collective_call& first, std::uint32_t members)
    : memory_(memory),
      pools_(pools),
      first_(first),
      bytes_(members),
      present_(members),
      reduces_(reduces(first.op) && first.count > 0),
      tree_(members) {}

std::vector<reduction_tree::step> collective_execution::arrived(std::uint32_t group_rank,
                                                                contribution bytes) {
  TROUPE_ASSERT(!present_[group_rank], group_rank);
  bytes_[group_rank] = std::move(bytes);
  present_[group_rank] = true;
  ++present_count_;
  if (!reduces_) return {};
  return tree_.arrived(group_rank);
}

std::uint64_t collective_execution::cost(const reduction_tree::step& step) const {
  return bytes_[step.into].view().size() * (step.from.size() + 1);
}

void collective_execution::fold(const reduction_tree::step& step) {
  std::vector<std::span<const std::byte>> from;
  from.reserve(step.from.size());
  for (auto member : step.from) from.push_back(bytes_[member].view());
  const auto into = bytes_[step.into].view();
  if (!multiplies_first(first_.reduce, first_.type))
    return memory_.fold(first_.type, first_.reduce, into, from);
  const auto parts = static_cast<std::uint32_t>(bytes_.size());
  if (tree_.folds_into_original(step))
    return memory_.fold(first_.type, first_.reduce, into, from, parts);
  if (tree_.folds_originals(step))
    memory_.fold(first_.type, first_.reduce, bytes_[step.from[0]].view(), {}, parts);
  memory_.fold(first_.type, first_.reduce, into, from);
}

std::vector<reduction_tree::step> collective_execution::folded(const reduction_tree::step& step) {
  return tree_.folded(step);
}

bool collective_execution::needs_finish() const {
  return reduces_ && first_.reduce == reduction::avg && bytes_.size() > 1
         && !multiplies_first(first_.reduce, first_.type);
}

void collective_execution::finish() {
  memory_.finish(first_.type, first_.reduce, bytes_[0].view(),
                 static_cast<std::uint32_t>(bytes_.size()));
}

bool collective_execution::complete() const {
  return present_count_ == bytes_.size() && (!reduces_ || tree_.complete());
}

std::vector<collective_execution::pieces> collective_execution::results(
    const std::vector<collective_call>& calls) {
  TROUPE_ASSERT(complete());
  const auto op = first_.op;
  const bool all_alike = op == operation::all_reduce || op == operation::all_gather;
  std::vector<std::uint32_t> readers(bytes_.size());
  std::vector<pieces> all(bytes_.size());
  std::vector<piece> wanted;
  for (std::uint32_t member = 0; member < bytes_.size(); ++member) {
    if (member == 0 || !all_alike) wanted = pieces_of(calls, member);
    for (const auto& part : wanted) ++readers[part.source];
    if (member > 0 && all_alike) {
      all[member] = all[0];
      continue;
    }
    if (wanted.empty()) continue;
    std::vector<payload> made;
    made.reserve(wanted.size());
    for (const auto& part : wanted)
      made.push_back(bytes_[part.source].slice(part.begin, part.length));
    all[member] = std::make_shared<const std::vector<payload>>(std::move(made));
  }
  for (std::uint32_t member = 0; member < bytes_.size(); ++member)
    bytes_[member].set_readers(readers[member], pools_);
  return all;
}

void collective_execution::abandon() {
  for (std::uint32_t member = 0; member < bytes_.size(); ++member)
    if (present_[member]) bytes_[member].set_readers(0, pools_);
}

}  // namespace troupe
