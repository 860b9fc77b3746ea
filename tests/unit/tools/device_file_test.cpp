// device_file: a device's YAML file, and what is said of one that cannot be believed.
#include "tools/device_file.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

struct file {
  std::string path = std::filesystem::temp_directory_path()
                     / ("troupe-device-" + std::to_string(::getpid()) + ".yaml");
  explicit file(const std::string& text) { std::ofstream(path) << text; }
  ~file() { std::remove(path.c_str()); }
};

std::string refusal(const std::string& text) {
  const file written(text);
  const auto read = read_device_file(written.path);
  if (read) return "";
  CHECK(read.error().code == errc::bad_input);
  CHECK_THAT(read.error().context, StartsWith(written.path));
  CHECK(read.error().context.find('\n') == std::string::npos);
  return read.error().context.substr(written.path.size());
}

TEST_CASE("a file is one device, and what does not fit is named where it stands") {
  CHECK_THAT(refusal("memory: 2GiB\n---\nbase: a100\n"),
             StartsWith(":3:1: ") && Contains("one document"));
  CHECK_THAT(refusal("tflops: 60\nmemory: 80\n"), StartsWith(":2:9: ") && Contains("memory"));
  CHECK_THAT(refusal("tflops: 60\ncontext: 200GiB\n"), StartsWith(":2:10: ") && Contains("memory"));
}

TEST_CASE("a device's file says what differs from its base") {
  const file written(R"yaml(
base: a100
name: "Slow GPU"       # as the driver says it
compute_capability: 8.6
memory: 1GiB
multiprocessors: 10
memory_gb_per_s: 100
devices: 2
kernel_time: 7us
kernels:
  - name: "scale(float*, int, *)"
    time: 250us
  - {name: _Z6streamPf, bytes_per_thread: 8, flops: 1e3}
)yaml");
  const auto device = read_device_file(written.path);
  REQUIRE(device);
  CHECK(device->product_name == "Slow GPU");
  CHECK(device->major == 8);
  CHECK(device->minor == 6);
  CHECK(device->memory_bytes == 1u << 30);
  CHECK(device->memory_bytes_per_ns == 100);
  CHECK(device->host_bytes_per_ns == 25);  // an a100's
  CHECK(device->devices_per_host == 2);
  CHECK(device->kernel_ns == 7000);
  REQUIRE(device->kernels.size() == 2);
  CHECK(device->kernels[0].time_ns == 250'000u);
  CHECK(device->kernels[1].bytes_per_thread == 8);
  CHECK(device->kernels[1].flops == 1000);
}

TEST_CASE("a device's file that cannot be believed is one error, with its line and key") {
  CHECK_THAT(refusal("memory: lots\n"), StartsWith(":1:9: memory: expected a size"));
  CHECK_THAT(refusal("base: a100\nmemry: 1GiB\n"), StartsWith(":2:8: memry: expected one of"));
  CHECK_THAT(refusal("base: z100\n"), StartsWith(":1:7: base: expected one of h100, h200"));
  CHECK_THAT(refusal("l2: 1MiB\nl2: 2MiB\n"), StartsWith(":2:1: l2: it is there already"));
  CHECK_THAT(refusal("memory: [1, 2]\n"), StartsWith(":1:9: memory: expected one value"));
  CHECK_THAT(refusal("memory: 512MiB\n"), Contains("memory: expected more than the 536870912"));
  CHECK_THAT(refusal("- h100\n"), Contains("expected a map"));
  CHECK_THAT(refusal(""), Contains("expected a map"));
  CHECK_THAT(refusal("memory: 'x\n"), StartsWith(":"));
  CHECK_THAT(refusal("kernels: 5\n"), StartsWith(":1:10: kernels: expected a list"));
  CHECK_THAT(refusal("kernels: [5]\n"), Contains("kernels: expected maps with a name"));
  CHECK_THAT(refusal("kernels:\n  - time: 5us\n"), StartsWith(":2:5: kernels: expected a name"));
  CHECK_THAT(refusal("kernels:\n  - name: f\n"), StartsWith(":2:5: kernels: expected a time"));
  CHECK_THAT(refusal("kernels:\n  - name: f\n    time: 5\n"),
             StartsWith(":3:11: time: expected a time"));
  CHECK_THAT(refusal("kernels:\n  - name: f\n    tme: 5us\n"),
             StartsWith(":3:10: tme: expected one of name, time"));
  CHECK_THAT(refusal("kernels:\n  - {name: f, time: 1us, bytes: 5}\n"), Contains("not both"));
}

TEST_CASE("a table of kernels that no environment takes is refused") {
  std::string text = "kernels:\n";
  for (int n = 0; n < 3000; ++n)
    text += "  - {name: a_kernel_with_a_long_name_" + std::to_string(n) + ", time: 5us}\n";
  CHECK_THAT(refusal(text), Contains("kernels: expected at most 120000 bytes"));
}

TEST_CASE("a device's file that is not there is an error") {
  const auto read = read_device_file("/nowhere/gpu.yaml");
  REQUIRE(!read);
  CHECK_THAT(read.error().context, Contains("/nowhere/gpu.yaml"));
  CHECK(is_device_file("./h100"));
  CHECK(is_device_file("gpu.yml"));
  CHECK_FALSE(is_device_file("h100"));
}

}  // namespace
}  // namespace troupe
