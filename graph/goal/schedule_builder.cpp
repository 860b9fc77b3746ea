#include "graph/goal/schedule_builder.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe::goal {

std::uint32_t schedule_builder::wide_tag(std::uint64_t tag) {
  const auto [known, is_new] =
      wide_.try_emplace(tag, static_cast<std::uint32_t>(schedule_.wide_tags_.size()));
  if (is_new) schedule_.wide_tags_.push_back(tag);
  return known->second;
}

std::uint32_t schedule_builder::add(const operation_description& what) {
  if (count() >= operations_max) {
    is_full_ = true;
    return 0;
  }
  const bool is_wide = what.tag >= ~std::uint32_t{0};
  auto& made = schedule_.operations_.back();
  made.size = what.size;
  made.peer = what.peer;
  made.narrow_tag = is_wide ? wide_tag(what.tag) : static_cast<std::uint32_t>(what.tag);
  made.rank = schedule_.ranks();
  made.cpu = what.cpu;
  made.nic = what.nic;
  made.kind = what.kind;
  made.has_wide_tag = is_wide;
  schedule_.cpu_max_ = std::max(schedule_.cpu_max_, what.cpu);
  schedule_.nic_max_ = std::max(schedule_.nic_max_, what.nic);
  schedule_.operations_.push_back({});
  return rank_size() - 1;
}

// By the operation waited for, those that wait for its end first; the declared order otherwise.
result<void> schedule_builder::end_rank() {
  auto& operations = schedule_.operations_;
  auto& dependents = schedule_.dependents_;
  if (is_full_ || schedule_.ranks() >= ranks_max
      || pending_.size() > dependencies_max - dependents.size())
    return error{errc::no_resources, "a schedule has at most " + std::to_string(operations_max)
                                         + " operations, " + std::to_string(dependencies_max)
                                         + " dependencies and " + std::to_string(ranks_max)
                                         + " ranks"};
  const auto size = rank_size();
  place_.assign(std::size_t{size} + 1, 0);
  for (const auto& each : pending_)
    if (!each.later.waits_for_start()) ++place_[each.earlier + 1];
  std::vector<std::uint32_t> ends;  // of those that wait for the end, when some wait for the start
  for (const auto& each : pending_)
    if (each.later.waits_for_start()) {
      if (ends.empty()) ends = place_;
      operations[rank_begin_ + each.earlier].has_start_dependents = true;
      ++place_[each.earlier + 1];
    }
  const auto base = static_cast<std::uint32_t>(dependents.size());
  for (std::uint32_t i = 0; i <= size; ++i) {
    place_[i] += i > 0 ? place_[i - 1] : base;
    operations[rank_begin_ + i].first_dependent = place_[i];
  }
  dependents.resize(base + pending_.size());
  std::vector<std::uint32_t> start_place;
  if (!ends.empty()) {
    start_place.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) start_place[i] = place_[i] + ends[i + 1];
  }
  for (const auto& each : pending_) {
    auto& place = each.later.waits_for_start() ? start_place[each.earlier] : place_[each.earlier];
    dependents[place++] =
        dependent(rank_begin_ + each.later.operation(), each.later.waits_for_start());
  }
  pending_.clear();
  schedule_.first_.push_back(count());
  return {};
}

schedule schedule_builder::finish() { return std::move(schedule_); }

}  // namespace troupe::goal
