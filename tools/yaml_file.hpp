// yaml_file: a YAML file that is one map, and errors that name a place in it.
//
// Not here: what its keys mean (those who read one: *_yaml.cpp).
#pragma once

#include <yaml-cpp/node/node.h>

#include <functional>
#include <string>

#include "messages/error.hpp"

namespace troupe {

/// errc::bad_input, "FILE:3:5: what".
error wrong_in_yaml(const std::string& path, const YAML::Mark& where, const std::string& what);

/// Has `parse` read the map; its error is passed on, and what yaml-cpp throws meanwhile becomes
/// one. errc::bad_input: unreadable, above 1 MiB, no YAML, several documents, or no map of
/// `content`.
result<void> read_yaml_map(const std::string& path, const std::string& content,
                           const std::function<result<void>(const YAML::Node&)>& parse);

}  // namespace troupe
