// llm_description_yaml: the YAML file of a training step's settings. yaml-cpp and its exceptions
// stay here.
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>

#include "graph/input_file.hpp"
#include "graph/workload/llm_settings.hpp"
#include "tools/llm_description.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t file_bytes_max = 1u << 20;

error wrong(const std::string& path, const YAML::Mark& where, const std::string& what) {
  const auto place = where.is_null() ? ""
                                     : ":" + std::to_string(where.line + 1) + ":"
                                           + std::to_string(where.column + 1);
  return {errc::bad_input, path + place + ": " + what};
}

result<std::string> text_of(const std::string& path) {
  TROUPE_TRY(file, input_file::open(path));
  if (file.size() > file_bytes_max)
    return error{errc::bad_input, path + ": more than 1 MiB, too much for a description"};
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  if (auto read = file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}); !read)
    return read.error();
  return text;
}

/// A scalar, or a list of them with commas between.
result<std::string> value_of(const std::string& path, const std::string& key,
                             const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  if (key != "layers-per-stage" || !value.IsSequence())
    return wrong(path, value.Mark(), key + ": expected one value");
  std::string text;
  for (const auto& each : value) {
    if (!each.IsScalar()) return wrong(path, each.Mark(), key + ": expected a list of numbers");
    text += (text.empty() ? "" : ",") + each.Scalar();
  }
  return text;
}

result<void> apply_base(workload::llm_options& into, const std::string& path,
                        const YAML::Node& map) {
  if (const auto base = map["model"]) {
    if (!base.IsScalar()) return wrong(path, base.Mark(), "model: expected a name");
    const auto known = workload::known_model(base.Scalar());
    if (!known) return wrong(path, base.Mark(), known.error().context);
    into.model = *known;
  }
  if (const auto base = map["device"]) {
    if (!base.IsScalar()) return wrong(path, base.Mark(), "device: expected a name");
    const auto known = workload::known_device(base.Scalar());
    if (!known) return wrong(path, base.Mark(), known.error().context);
    into.device = *known;
  }
  return {};
}

result<void> apply(workload::llm_options& into, const std::string& path, const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto &key = entry.first, &value = entry.second;
    if (!key.IsScalar()) return wrong(path, key.Mark(), "expected a setting's name");
    const auto& name = key.Scalar();
    if (!seen.insert(name).second) return wrong(path, key.Mark(), name + " is there already");
    if (name == "model" || name == "device") continue;
    TROUPE_TRY(text, value_of(path, name, value));
    if (auto set = workload::set_setting(into, name, text); !set)
      return wrong(path, key.Mark(), set.error().context);
  }
  return {};
}

result<workload::llm_options> read_file(const std::string& path) {
  TROUPE_TRY(text, text_of(path));
  workload::llm_options options;
  options.device = *workload::known_device("h100");
  options.model.name = std::filesystem::path(path).stem().string();
  try {
    const auto root = YAML::Load(text);
    if (!root.IsMap()) return wrong(path, root.Mark(), "expected a map of settings");
    if (auto based = apply_base(options, path, root); !based) return based.error();
    if (auto applied = apply(options, path, root); !applied) return applied.error();
  } catch (const YAML::Exception& why) {
    return wrong(path, why.mark, why.msg);
  }
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
