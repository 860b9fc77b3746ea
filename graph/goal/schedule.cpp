#include "graph/goal/schedule.hpp"

#include <algorithm>

namespace troupe::goal {

const char* to_string(operation_kind kind) {
  switch (kind) {
    case operation_kind::send:
      return "send";
    case operation_kind::recv:
      return "recv";
    case operation_kind::calc:
      return "calc";
  }
  return "?";
}

std::uint64_t schedule::memory_bytes() const {
  return operations_.capacity() * sizeof(operation) + dependents_.capacity() * sizeof(dependent)
         + first_.capacity() * sizeof(std::uint32_t) + wide_tags_.capacity() * 8;
}

bool equal(const schedule& one, const schedule& other) {
  if (one.ranks() != other.ranks() || one.size() != other.size()) return false;
  for (std::uint32_t rank = 0; rank < one.ranks(); ++rank)
    if (one.first_of(rank) != other.first_of(rank)) return false;
  for (std::uint32_t i = 0; i < one.size(); ++i) {
    const auto &a = one[i], &b = other[i];
    if (a.kind != b.kind || a.size != b.size || a.peer != b.peer || one.tag(a) != other.tag(b)
        || a.cpu != b.cpu || a.nic != b.nic)
      return false;
    const auto of_a = one.dependents(i), of_b = other.dependents(i);
    if (!std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end())) return false;
  }
  return true;
}

}  // namespace troupe::goal
