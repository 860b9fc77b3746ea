// host_layout: which members of a communicator live on one host.
//
// Hosts are numbered in the order of their first member, members of a host in group order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

class host_layout {
 public:
  /// `host_of[i]`: member i's host, any number.
  explicit host_layout(std::span<const std::uint32_t> host_of);
  /// The first `per_host` members on the first host, and so on.
  static host_layout consecutive(std::uint32_t members, std::uint32_t per_host);

  std::uint32_t members() const { return static_cast<std::uint32_t>(members_.size()); }
  std::uint32_t hosts() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
  std::uint32_t size(std::uint32_t host) const { return begins_[host + 1] - begins_[host]; }
  std::uint32_t largest() const;
  std::uint32_t host(std::uint32_t member) const { return host_[member]; }
  /// The member's number on its host.
  std::uint32_t seat(std::uint32_t member) const { return place_[member] - begins_[host_[member]]; }
  std::uint32_t member(std::uint32_t host, std::uint32_t seat) const {
    return members_[begins_[host] + seat];
  }
  /// Members on the hosts before it.
  std::uint32_t begin(std::uint32_t host) const { return begins_[host]; }
  /// The host of the place'th member, counted host by host.
  std::uint32_t host_at(std::uint32_t place) const;

 private:
  host_layout() = default;

  std::vector<std::uint32_t> members_;       // host by host
  std::vector<std::uint32_t> begins_;        // [host], and the end
  std::vector<std::uint32_t> host_, place_;  // [member]
};

}  // namespace troupe
