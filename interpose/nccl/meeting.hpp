// meeting: how the members of a new communicator find each other: through the run's store, under a
// key that they all know.
//
// Each announces itself; who completes the number gives each device of a process that is a member
// for the first time its place among that process' ranks (messages/companions.hpp), sorts the
// colours, gives each an ordinal that no other communicator of these members has, and says that it
// is ready. Places are given in the order of the meeting's ranks, whoever comes first. Members of
// one process announce themselves one after another and only then wait. Not here: what a
// communicator is (communicator.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

/// A member, as it announces itself. Colours below 0 take no part in anything new.
struct meeting_member {
  std::uint32_t rank;  ///< in the meeting
  std::uint32_t size;  ///< of the meeting, as this member believes
  std::int32_t color, key;
  std::uint32_t process;        ///< its lead's number
  std::int32_t host, device;    ///< which host, which of its devices
  std::int32_t companion = -1;  ///< of its process; -1: none of its ranks yet
};

struct new_group {
  std::uint32_t rank{}, ordinal{}, companion{};
  std::vector<std::uint32_t> members;  ///< logical ranks, by rank in the group; empty: none
};

class meeting {
 public:
  /// Announces the member. Returns without waiting.
  static result<meeting> announce(std::string key, meeting_member me);
  result<bool> is_ready() const;
  /// Waits for the others (the slot is given up meanwhile). bad_input: members that do not fit
  /// together, the same sentence for each.
  result<new_group> await() const;

 private:
  meeting(std::string key, const meeting_member& me) : key_(std::move(key)), me_(me) {}
  result<std::string> outcome_of(std::vector<meeting_member> all) const;

  std::string key_;
  meeting_member me_;
};

}  // namespace troupe
