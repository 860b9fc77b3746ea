// device_file_yaml: the YAML file of a device.
#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <string>

#include "interpose/cudart/device_fields.hpp"
#include "tools/device_file.hpp"
#include "tools/yaml_file.hpp"

namespace troupe {
namespace {

/// A rank gets the device as one variable of its environment, and Linux takes no longer ones.
constexpr std::size_t fields_bytes_max = 120'000;

struct yaml_place {
  const std::string& path;
  error wrong(const YAML::Mark& where, const std::string& what) const {
    return wrong_in_yaml(path, where, what);
  }
};

/// Each key once, with one value, which `set` takes; `other` has the keys that are not its own.
template <class Of>
result<void> apply(Of& into, const YAML::Node& map, const yaml_place& in,
                   result<void> (*set)(Of&, std::string_view, const std::string&),
                   const std::set<std::string>& other) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto &key = entry.first, &value = entry.second;
    if (!key.IsScalar()) return in.wrong(key.Mark(), "expected a key");
    if (!seen.insert(key.Scalar()).second)
      return in.wrong(key.Mark(), key.Scalar() + ": it is there already");
    if (other.contains(key.Scalar())) continue;
    if (!value.IsScalar()) return in.wrong(value.Mark(), key.Scalar() + ": expected one value");
    if (auto done = set(into, key.Scalar(), value.Scalar()); !done)
      return in.wrong(value.Mark(), key.Scalar() + ": " + done.error().context);
  }
  return {};
}

result<void> apply_kernels(device_profile& into, const YAML::Node& list, const yaml_place& in) {
  if (!list.IsSequence()) return in.wrong(list.Mark(), "kernels: expected a list");
  for (const auto& entry : list) {
    if (!entry.IsMap()) return in.wrong(entry.Mark(), "kernels: expected maps with a name");
    auto& kernel = into.kernels.emplace_back();
    if (auto done = apply(kernel, entry, in, set_kernel_field, {}); !done) return done;
    if (auto checked = check_kernel(kernel); !checked)
      return in.wrong(entry.Mark(), "kernels: " + checked.error().context);
  }
  return {};
}

result<device_profile> parse(const YAML::Node& root, const yaml_place& in) {
  auto device = device_profiles().front();
  if (const auto base = root["base"]) {
    const auto* known = base.IsScalar() ? find_device_profile(base.Scalar()) : nullptr;
    if (!known) return in.wrong(base.Mark(), "base: expected one of " + device_profile_names());
    device = *known;
  }
  device.name = in.path;
  if (auto done = apply(device, root, in, set_device_field, {"base", "kernels"}); !done)
    return done.error();
  if (auto checked = check_device(device); !checked)
    return in.wrong((root["memory"]    ? root["memory"]
                     : root["context"] ? root["context"]
                                       : root)
                        .Mark(),
                    checked.error().context);
  if (const auto kernels = root["kernels"])
    if (auto done = apply_kernels(device, kernels, in); !done) return done.error();
  const auto bytes = to_fields(device).size();
  if (bytes > fields_bytes_max)
    return in.wrong(root["kernels"].Mark(),
                    "kernels: expected at most " + std::to_string(fields_bytes_max)
                        + " bytes of names and numbers, not " + std::to_string(bytes));
  return device;
}

}  // namespace

bool is_device_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

result<device_profile> read_device_file(const std::string& path) {
  const yaml_place in{path};
  std::optional<device_profile> made;
  auto read = read_yaml_map(path, "a device's keys", [&](const YAML::Node& root) -> result<void> {
    TROUPE_TRY(device, parse(root, in));
    made = std::move(device);
    return {};
  });
  if (!read) return read.error();
  return *std::move(made);
}

}  // namespace troupe
