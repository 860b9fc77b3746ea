// communicator_table: the communicators that this process' ranks opened: ordinals of equal members,
// sequence numbers of their collectives, and the handles by which the process names them.
//
// A communicator of the lead is named by its id. Where the same one is a companion's too
// (messages/companions.hpp), that one's has a handle of its own.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "messages/companions.hpp"
#include "messages/ids.hpp"

namespace troupe {

class communicator_table {
 public:
  struct opened {
    communicator_id handle;  ///< by which find() knows it
    communicator_id communicator;
    std::uint32_t ordinal{};  ///< communicators with exactly these members that were opened before
  };
  struct entry {
    communicator_id communicator;
    companion_number companion{};  ///< of the process, whose it is
    std::uint32_t size{};
    std::uint64_t collectives{};  ///< issued so far
  };

  opened open(const std::vector<rank_id>& members, companion_number companion = 0) {
    return open_as(members, ordinals_[{companion, members}]++, companion);
  }
  opened open_as(const std::vector<rank_id>& members, std::uint32_t ordinal,
                 companion_number companion = 0) {
    const auto communicator = make_communicator_id(members, ordinal);
    const communicator_id handle{communicator.value + companion * spread};
    entries_[handle] = {communicator, companion, static_cast<std::uint32_t>(members.size()), 0};
    return {handle, communicator, ordinal};
  }
  entry* find(communicator_id handle) {
    const auto at = entries_.find(handle);
    return at == entries_.end() ? nullptr : &at->second;
  }

 private:
  /// Handles are hashes, as the ids are, and as unlikely to be equal.
  static constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;

  std::map<std::pair<companion_number, std::vector<rank_id>>, std::uint32_t> ordinals_;
  std::unordered_map<communicator_id, entry> entries_;
};

}  // namespace troupe
