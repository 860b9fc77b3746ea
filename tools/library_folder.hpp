// library_folder: where this installation keeps what ranks load: libtroupe_client.so,
// libtroupe_preload.so, python/.
#pragma once

#include <string>

#include "messages/error.hpp"

namespace troupe {

/// Beside the program: ../lib/troupe (installed) or ../lib (a build folder). internal when neither
/// holds them.
result<std::string> library_folder();

}  // namespace troupe
