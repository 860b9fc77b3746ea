// refusal: how everything here says no: an exception with a sentence, as torch expects of a
// backend.
#pragma once

#include <stdexcept>
#include <string>

namespace troupe {

[[noreturn]] inline void refuse(const std::string& sentence) { throw std::runtime_error(sentence); }

}  // namespace troupe
