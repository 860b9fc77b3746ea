// llm_description_yaml: the YAML file of a training step's settings.
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>

#include "graph/workload/llm_settings.hpp"
#include "tools/llm_description.hpp"
#include "tools/yaml_file.hpp"

namespace troupe {
namespace {

/// A scalar, or a list of them with commas between.
result<std::string> value_of(const std::string& path, const std::string& key,
                             const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  if (key != "layers-per-stage" || !value.IsSequence())
    return wrong_in_yaml(path, value.Mark(), key + ": expected one value");
  std::string text;
  for (const auto& each : value) {
    if (!each.IsScalar())
      return wrong_in_yaml(path, each.Mark(), key + ": expected a list of numbers");
    text += (text.empty() ? "" : ",") + each.Scalar();
  }
  return text;
}

result<void> apply_base(workload::llm_options& into, const std::string& path,
                        const YAML::Node& map) {
  if (const auto base = map["model"]) {
    if (!base.IsScalar()) return wrong_in_yaml(path, base.Mark(), "model: expected a name");
    const auto known = workload::known_model(base.Scalar());
    if (!known) return wrong_in_yaml(path, base.Mark(), known.error().context);
    into.model = *known;
  }
  if (const auto base = map["device"]) {
    if (!base.IsScalar()) return wrong_in_yaml(path, base.Mark(), "device: expected a name");
    const auto known = workload::known_device(base.Scalar());
    if (!known) return wrong_in_yaml(path, base.Mark(), known.error().context);
    into.device = *known;
  }
  return {};
}

result<void> apply(workload::llm_options& into, const std::string& path, const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto &key = entry.first, &value = entry.second;
    if (!key.IsScalar()) return wrong_in_yaml(path, key.Mark(), "expected a setting's name");
    const auto& name = key.Scalar();
    if (!seen.insert(name).second)
      return wrong_in_yaml(path, key.Mark(), name + " is there already");
    if (name == "model" || name == "device") continue;
    TROUPE_TRY(text, value_of(path, name, value));
    if (auto set = workload::set_setting(into, name, text); !set)
      return wrong_in_yaml(path, key.Mark(), set.error().context);
  }
  return {};
}

result<workload::llm_options> read_file(const std::string& path) {
  workload::llm_options options;
  options.device = *workload::known_device("h100");
  options.model.name = std::filesystem::path(path).stem().string();
  auto read = read_yaml_map(path, "settings", [&](const YAML::Node& root) -> result<void> {
    if (auto based = apply_base(options, path, root); !based) return based.error();
    return apply(options, path, root);
  });
  if (!read) return read.error();
  return options;
}

}  // namespace

bool is_description_file(const std::string& model) {
  return model.ends_with(".yaml") || model.ends_with(".yml");
}

result<workload::llm_options> read_llm_description(const std::string& model) {
  if (is_description_file(model)) return read_file(model);
  const auto known = workload::known_model(model);
  if (!known)
    return error{errc::usage, known.error().context + ", or a description's name in .yaml"};
  workload::llm_options options;
  options.model = *known;
  options.device = *workload::known_device("h100");
  return options;
}

}  // namespace troupe
