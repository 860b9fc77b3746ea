#include "graph/workload/device_description.hpp"

namespace troupe::workload {

// NVIDIA's data sheets, SXM, without sparsity: A100 80GB (2021), H100 (2022), H200 (2023), B200 (of
// the HGX B200 page, 2024).
const std::vector<device_description>& known_devices() {
  static const std::vector<device_description> all = {{"a100", 312e12, 2.039e12},
                                                      {"b200", 2250e12, 8.0e12},
                                                      {"h100", 989.4e12, 3.35e12},
                                                      {"h200", 989.4e12, 4.8e12}};
  return all;
}

result<device_description> known_device(const std::string& name) {
  std::string names;
  for (const auto& device : known_devices()) {
    if (device.name == name) return device;
    names += (names.empty() ? "" : ", ") + device.name;
  }
  return error{errc::usage, "there is no built-in device " + name + "; there are " + names};
}

}  // namespace troupe::workload
