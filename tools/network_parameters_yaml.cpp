// network_parameters_yaml: the YAML file of network parameters. yaml-cpp and its exceptions stay
// here.
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "graph/input_file.hpp"
#include "tools/network_parameters.hpp"

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
    return error{errc::bad_input, path + ": more than 1 MiB, too much for parameters"};
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  if (auto read = file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}); !read)
    return read.error();
  return text;
}

result<void> apply(loggops_parameters& into, const std::string& path, const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto &key = entry.first, &value = entry.second;
    if (!key.IsScalar()) return wrong(path, key.Mark(), "expected a parameter's name");
    if (!value.IsScalar()) return wrong(path, value.Mark(), key.Scalar() + ": expected one value");
    if (!seen.insert(key.Scalar()).second)
      return wrong(path, key.Mark(), key.Scalar() + " is there already");
    if (key.Scalar() == "preset") {
      const auto known = preset_parameters(value.Scalar());
      if (!known) return wrong(path, value.Mark(), known.error().context);
    } else if (auto set = set_parameter(into, key.Scalar(), value.Scalar()); !set) {
      return wrong(path, key.Mark(), set.error().context);
    }
  }
  return {};
}

}  // namespace

result<void> read_parameters(loggops_parameters& into, const std::string& path) {
  TROUPE_TRY(text, text_of(path));
  try {
    const auto root = YAML::Load(text);
    if (!root.IsMap()) return wrong(path, root.Mark(), "expected a map of parameters");
    if (const auto preset = root["preset"]; preset && preset.IsScalar())
      if (const auto known = loggops_preset(preset.Scalar())) into = *known;
    return apply(into, path, root);
  } catch (const YAML::Exception& why) {
    return wrong(path, why.mark, why.msg);
  }
}

}  // namespace troupe
