// network_parameters_yaml: the YAML file of network parameters.
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "tools/network_parameters.hpp"
#include "tools/yaml_file.hpp"

namespace troupe {
namespace {

result<void> apply(loggops_parameters& into, const std::string& path, const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto &key = entry.first, &value = entry.second;
    if (!key.IsScalar()) return wrong_in_yaml(path, key.Mark(), "expected a parameter's name");
    if (!value.IsScalar())
      return wrong_in_yaml(path, value.Mark(), key.Scalar() + ": expected one value");
    if (!seen.insert(key.Scalar()).second)
      return wrong_in_yaml(path, key.Mark(), key.Scalar() + " is there already");
    if (key.Scalar() == "preset") {
      const auto known = preset_parameters(value.Scalar());
      if (!known) return wrong_in_yaml(path, value.Mark(), known.error().context);
    } else if (auto set = set_parameter(into, key.Scalar(), value.Scalar()); !set) {
      return wrong_in_yaml(path, key.Mark(), set.error().context);
    }
  }
  return {};
}

}  // namespace

result<void> read_parameters(loggops_parameters& into, const std::string& path) {
  return read_yaml_map(path, "parameters", [&](const YAML::Node& root) {
    if (const auto preset = root["preset"]; preset && preset.IsScalar())
      if (const auto known = loggops_preset(preset.Scalar())) into = *known;
    return apply(into, path, root);
  });
}

}  // namespace troupe
