// c_status: results as the C interface returns them: a number, and the sentence kept for
// troupe_error.
#pragma once

#include <string>

#include "messages/error.hpp"

namespace troupe {

inline std::string& last_sentence() {
  thread_local std::string sentence;
  return sentence;
}

inline int fail(const error& why) {
  last_sentence() = to_string(why);
  return static_cast<int>(why.code);
}

template <class T>
int status_of(const result<T>& outcome) {
  return outcome ? 0 : fail(outcome.error());
}

}  // namespace troupe
