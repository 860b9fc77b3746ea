#include "messages/release_reason.hpp"

namespace troupe {

const char* to_string(release_reason why) {
  switch (why) {
    case release_reason::collective:
      return "collective";
    case release_reason::store:
      return "store";
    case release_reason::yielded:
      return "yielded";
    case release_reason::sleeping:
      return "sleeping";
    case release_reason::asleep:
      return "asleep";
    case release_reason::ended:
      return "ended";
    case release_reason::overdue:
      return "overdue";
  }
  return "unknown";
}

}  // namespace troupe
