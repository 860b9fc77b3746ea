// release_reason: why a rank gave up its slot.
#pragma once

#include <cstdint>

namespace troupe {

enum class release_reason : std::uint8_t {
  collective,  ///< waits for communication
  store,       ///< waits for a key
  yielded,     ///< polled, and let others go first
  sleeping,    ///< said that it sleeps
  asleep,      ///< found asleep: the slot was taken from it
  ended,
  overdue,  ///< has said nothing for long: the slot was taken from it
};

const char* to_string(release_reason why);

}  // namespace troupe
