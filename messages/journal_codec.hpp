// journal_codec: one record of a journal to msgpack and back; private to journal.cpp. msgpack's
// exceptions end here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "messages/error.hpp"
#include "messages/journal.hpp"

namespace troupe {

/// The record as bytes; texts longer than the limit are cut. bad_input: a list is too long.
result<std::string> encode_record(const journal::record& record);

struct decoded_record {
  journal::record record;
  std::uint64_t length{};  ///< bytes it took
};

/// The record that starts here; nullopt: it does so, but is not whole.
result<std::optional<decoded_record>> decode_record(std::span<const char> bytes);

}  // namespace troupe
