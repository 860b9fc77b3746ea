// device_fields: a device's profile as words: keys and values, as a person writes them and as a run
// hands them to its ranks.
//
// Sizes are numbers with or without a unit ("80GiB", "512 MB"), times need one ("5us"), rates are
// what data sheets have (GB/s, TFLOPS, MHz). Not here: YAML (tools/device_file_yaml.cpp).
#pragma once

#include <string>
#include <string_view>

#include "interpose/cudart/device_profile.hpp"
#include "messages/error.hpp"

namespace troupe {

/// bad_input: says what was expected; without the key.
result<void> set_device_field(device_profile& of, std::string_view key, const std::string& value);
result<void> set_kernel_field(kernel_cost& of, std::string_view key, const std::string& value);
/// A kernel without a name, with neither a time nor a cost, or with both.
result<void> check_kernel(const kernel_cost& of);
/// What does not fit together (more memory held than there is).
result<void> check_device(const device_profile& of);

/// Lines of `key=value`; a kernel's keys follow its name.
std::string to_fields(const device_profile& of);
result<device_profile> from_fields(const std::string& text);

}  // namespace troupe
