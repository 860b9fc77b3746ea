// call_site_table: call sites by number, so that each text crosses the wire once.
//
// Limits: call_sites_max texts of text_bytes_max bytes; beyond, a site is 0 (unknown), a longer
// text is cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "messages/ids.hpp"

namespace troupe {

class call_site_table {
 public:
  static constexpr std::size_t call_sites_max = 64 * 1024, text_bytes_max = 512;
  struct interned {
    call_site_id id;
    bool first{};  ///< never seen before: tell the runner
  };

  interned intern(std::string_view text) {
    if (text.empty()) return {};
    std::string key(text.substr(0, text_bytes_max));
    const auto known = ids_.find(key);
    if (known != ids_.end()) return {known->second, false};
    if (ids_.size() >= call_sites_max) return {};
    const call_site_id id{static_cast<std::uint32_t>(ids_.size() + 1)};
    ids_.emplace(std::move(key), id);
    return {id, true};
  }

 private:
  std::unordered_map<std::string, call_site_id> ids_;
};

}  // namespace troupe
