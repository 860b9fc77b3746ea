// communicator_table: the communicators this rank opened: ordinals of equal members, sequence
// numbers of their collectives.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "messages/ids.hpp"

namespace troupe {

class communicator_table {
 public:
  struct opened {
    communicator_id communicator;
    std::uint32_t ordinal{};  ///< communicators with exactly these members that were opened before
  };
  struct entry {
    std::uint32_t size{};
    std::uint64_t collectives{};  ///< issued so far
  };

  opened open(const std::vector<rank_id>& members) {
    return open_as(members, ordinals_[members]++);
  }
  opened open_as(const std::vector<rank_id>& members, std::uint32_t ordinal) {
    const auto communicator = make_communicator_id(members, ordinal);
    entries_[communicator] = {static_cast<std::uint32_t>(members.size()), 0};
    return {communicator, ordinal};
  }
  entry* find(communicator_id communicator) {
    const auto at = entries_.find(communicator);
    return at == entries_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::vector<rank_id>, std::uint32_t> ordinals_;
  std::unordered_map<communicator_id, entry> entries_;
};

}  // namespace troupe
