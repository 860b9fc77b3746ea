#include "actors/run_tables.hpp"

#include <algorithm>
#include <set>

#include "messages/companions.hpp"

namespace troupe {

std::uint32_t run_tables::communicator(const communicator_entry& entry) {
  std::lock_guard held{guard_};
  auto [at, fresh] =
      communicator_index_.try_emplace(entry.id, static_cast<std::uint32_t>(communicators_.size()));
  if (fresh) communicators_.push_back(entry);
  return at->second;
}

std::uint32_t run_tables::call_site(const std::string& text) {
  std::lock_guard held{guard_};
  auto [at, fresh] =
      call_site_index_.try_emplace(text, static_cast<std::uint32_t>(call_sites_.size()));
  if (fresh) call_sites_.push_back(text);
  return at->second;
}

std::string run_tables::call_site_text(std::uint32_t index) const {
  std::lock_guard held{guard_};
  return index < call_sites_.size() ? call_sites_[index] : std::string{};
}

run_tables::fresh_entries run_tables::take_fresh() {
  std::lock_guard held{guard_};
  auto skip = [](auto& all, std::size_t& taken) {
    std::remove_reference_t<decltype(all)> fresh{all.begin() + static_cast<std::ptrdiff_t>(taken),
                                                 all.end()};
    taken = all.size();
    return fresh;
  };
  return {skip(communicators_, communicators_taken_), skip(call_sites_, call_sites_taken_)};
}

void run_tables::count(operation op, std::uint64_t size_bytes) {
  std::lock_guard held{guard_};
  auto& entry = operations_[op];
  ++entry.count;
  entry.size_bytes += size_bytes;
}

std::map<operation, run_tables::operation_count> run_tables::operations() const {
  std::lock_guard held{guard_};
  return operations_;
}

void run_tables::note_depth(std::uint32_t depth, communicator_id communicator) {
  std::lock_guard held{guard_};
  auto found = communicator_index_.find(communicator);
  if (found == communicator_index_.end()) return;
  if (at_depth_.size() <= depth) at_depth_.resize(depth + 1);
  auto& here = at_depth_[depth];
  if (std::find(here.begin(), here.end(), found->second) == here.end())
    here.push_back(found->second);
}

std::uint64_t run_tables::switches_least(std::uint32_t world, std::uint32_t slots) const {
  std::lock_guard held{guard_};
  std::uint64_t least = world;
  auto processes_of = [&](std::uint32_t index) {
    std::set<rank_id> leads;
    for (auto member : communicators_[index].members) leads.insert(lead_of(member, world));
    return leads;
  };
  for (const auto& here : at_depth_) {
    std::vector<std::set<rank_id>> all;
    for (auto index : here) all.push_back(processes_of(index));
    std::stable_sort(all.begin(), all.end(),
                     [](auto& one, auto& other) { return one.size() > other.size(); });
    std::set<rank_id> counted;
    for (const auto& of : all) {
      if (of.size() <= slots) break;
      if (std::any_of(of.begin(), of.end(), [&](auto rank) { return counted.contains(rank); }))
        continue;
      counted.insert(of.begin(), of.end());
      least += of.size() - slots;
    }
  }
  return least;
}

}  // namespace troupe
