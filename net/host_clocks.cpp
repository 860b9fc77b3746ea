#include "net/host_clocks.hpp"

#include <algorithm>

namespace troupe {

host_clocks::host_clocks(const goal::schedule& of) {
  std::uint32_t cpus = 0, nics = 0;
  std::vector<std::uint16_t> cpu_numbers, nic_numbers;
  cpu_of_.reserve(of.ranks());
  nic_of_.reserve(of.ranks());
  for (std::uint32_t rank = 0; rank < of.ranks(); ++rank) {
    cpu_numbers.assign(1, 0);
    nic_numbers.assign(1, 0);
    for (auto i = of.first_of(rank); i < of.first_of(rank + 1); ++i) {
      if (of[i].cpu != cpu_numbers.back()) cpu_numbers.push_back(of[i].cpu);
      if (of[i].nic != nic_numbers.back()) nic_numbers.push_back(of[i].nic);
    }
    cpu_of_.push_back(place_of(cpu_numbers, cpus));
    nic_of_.push_back(place_of(nic_numbers, nics));
  }
  cpus_.resize(cpus);
  nics_.resize(nics);
}

host_clocks::place host_clocks::place_of(std::vector<std::uint16_t>& numbers,
                                         std::uint32_t& total) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  place made{total, static_cast<std::uint32_t>(numbers.size()), place::dense};
  if (numbers.back() + 1u != numbers.size()) {
    made.numbers = static_cast<std::uint32_t>(numbers_.size());
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }
  total += made.count;
  return made;
}

std::uint32_t host_clocks::find(const place& of, std::uint16_t number) const {
  const auto begin = numbers_.begin() + of.numbers;
  const auto found = std::lower_bound(begin, begin + of.count, number) - begin;
  return std::min(static_cast<std::uint32_t>(found), of.count - 1);
}

std::uint64_t host_clocks::finish_ns(std::uint32_t rank) const {
  std::uint64_t latest = 0;
  for (std::uint32_t i = 0; i < cpu_of_[rank].count; ++i)
    latest = std::max(latest, cpus_[cpu_of_[rank].first + i].free_ns);
  return latest;
}

}  // namespace troupe
