// errors: troupe::error across a mailbox and back.
#pragma once

#include <caf/error.hpp>

#include "messages/error.hpp"

namespace troupe {

caf::error to_caf(const error& why);
/// Ours as it was; a foreign one (CAF's own) becomes errc::internal with its text.
error from_caf(const caf::error& why);

}  // namespace troupe
