// device_file: a GPU as a YAML file: what the host device is, and how long kernels take on it.
#pragma once

#include <string>

#include "interpose/cudart/device_profile.hpp"
#include "messages/error.hpp"

namespace troupe {

/// Is it the name of a file, not of a built-in device?
bool is_device_file(const std::string& name);
/// Keys of device_fields.hpp, a list `kernels` of maps, and `base`, the built-in device that has
/// what the file does not say (h100). errc::bad_input has file, line and key.
result<device_profile> read_device_file(const std::string& path);

}  // namespace troupe
