// verb_failure: how a verb says that it cannot: one line on standard error, its --json object, its
// exit status.
//
// Not here: findings about what the verb was given (each verb's own report).
#pragma once

#include <string>

#include "messages/error.hpp"

namespace troupe {

/// "troupe VERB: text" on standard error. Returns the code's exit status.
int complain(const char* verb, errc code, const std::string& text);
/// The same with why, which is also the one finding of the object written to `json` ("" for none).
int fail(const char* verb, const error& why, const std::string& json);

}  // namespace troupe
