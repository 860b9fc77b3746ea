#include "graph/schedule/host_layout.hpp"

#include <algorithm>
#include <map>

#include "messages/assert.hpp"

namespace troupe {

host_layout::host_layout(std::span<const std::uint32_t> host_of) {
  TROUPE_ASSERT(!host_of.empty());
  std::map<std::uint32_t, std::uint32_t> number;
  for (const auto each : host_of)
    host_.push_back(number.emplace(each, static_cast<std::uint32_t>(number.size())).first->second);
  begins_.assign(number.size() + 1, 0);
  for (const auto host : host_) ++begins_[host + 1];
  for (std::size_t host = 0; host < number.size(); ++host) begins_[host + 1] += begins_[host];
  members_.resize(host_.size());
  auto next = begins_;
  for (std::uint32_t member = 0; member < host_.size(); ++member) {
    place_.push_back(next[host_[member]]++);
    members_[place_.back()] = member;
  }
}

host_layout host_layout::consecutive(std::uint32_t members, std::uint32_t per_host) {
  TROUPE_ASSERT(members > 0 && per_host > 0, members, per_host);
  host_layout made;
  for (std::uint32_t member = 0; member < members; ++member) {
    made.members_.push_back(member);
    made.place_.push_back(member);
    made.host_.push_back(member / per_host);
    if (member % per_host == 0) made.begins_.push_back(member);
  }
  made.begins_.push_back(members);
  return made;
}

std::uint32_t host_layout::largest() const {
  std::uint32_t most = 0;
  for (std::uint32_t host = 0; host < hosts(); ++host) most = std::max(most, size(host));
  return most;
}

std::uint32_t host_layout::host_at(std::uint32_t place) const {
  return static_cast<std::uint32_t>(std::upper_bound(begins_.begin(), begins_.end(), place)
                                    - begins_.begin() - 1);
}

}  // namespace troupe
