// label_table: the labels of one rank, and which operation each names.
//
// A label of at most eight characters is its own key; longer ones are in a map of strings. Emptying
// it costs nothing: entries of former ranks do not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/goal/text_scanner.hpp"

namespace troupe::goal {

class label_table {
 public:
  void clear() {
    ++generation_;
    count_ = 0;
    if (!long_.empty()) long_.clear();
  }
  /// False if the label is there already.
  bool add(std::string_view label, std::uint32_t operation) {
    if (label.size() > 8) return long_.try_emplace(std::string(label), operation).second;
    if (count_ * 2 >= entries_.size()) grow();
    auto& entry = place_of(text_scanner::packed(label));
    if (entry.generation == generation_) return false;
    entry = {text_scanner::packed(label), operation, generation_};
    ++count_;
    return true;
  }
  std::optional<std::uint32_t> find(std::string_view label) const {
    if (label.size() > 8) {
      const auto known = long_.find(std::string(label));
      return known == long_.end() ? std::nullopt : std::optional{known->second};
    }
    const auto& entry = place_of(text_scanner::packed(label));
    if (entry.generation != generation_) return std::nullopt;
    return entry.operation;
  }

 private:
  struct entry {
    std::uint64_t key;
    std::uint32_t operation, generation;
  };
  /// The label's entry, or where it would stand.
  entry& place_of(std::uint64_t key) { return entries_[index_of(key)]; }
  const entry& place_of(std::uint64_t key) const { return entries_[index_of(key)]; }
  std::size_t index_of(std::uint64_t key) const {
    const auto mask = entries_.size() - 1;
    auto at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 20) & mask;
    while (entries_[at].generation == generation_ && entries_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const auto& each : old)
      if (each.generation == generation_) place_of(each.key) = each;
  }

  std::vector<entry> entries_ = std::vector<entry>(64);
  std::size_t count_ = 0;
  std::uint32_t generation_ = 1;
  std::unordered_map<std::string, std::uint32_t> long_;
};

}  // namespace troupe::goal
