// device_fields: a device's profile as words, there and back, and what is no value.
#include "interpose/cudart/device_fields.hpp"

#include <catch2/catch.hpp>

namespace troupe {
namespace {

using Catch::Matchers::Contains;

std::string refusal(std::string_view key, const std::string& value) {
  auto device = device_profiles().front();
  const auto set = set_device_field(device, key, value);
  return set ? "" : set.error().context;
}

TEST_CASE("sizes, times and rates are read with their units") {
  auto device = device_profiles().front();
  REQUIRE(set_device_field(device, "memory", "80 GiB"));
  CHECK(device.memory_bytes == std::uint64_t{80} << 30);
  REQUIRE(set_device_field(device, "memory", "12345678"));
  CHECK(device.memory_bytes == 12345678);
  REQUIRE(set_device_field(device, "l2", "1.5MB"));
  CHECK(device.l2_bytes == 1'500'000);
  REQUIRE(set_device_field(device, "kernel_time", "2.5us"));
  CHECK(device.kernel_ns == 2500);
  REQUIRE(set_device_field(device, "kernel_time", "0ns"));
  CHECK(device.kernel_ns == 0);
  REQUIRE(set_device_field(device, "tflops", "989"));
  CHECK(device.flops_per_ns == 989'000);
  REQUIRE(set_device_field(device, "clock_mhz", "1980.5"));
  CHECK(device.clock_khz == 1'980'500);
  REQUIRE(set_device_field(device, "compute_capability", "12.1"));
  CHECK(device.major == 12);
  CHECK(device.minor == 1);
}

TEST_CASE("what is no value of a key is refused") {
  CHECK_THAT(refusal("memory", "much"), Contains("expected a size such as 80GiB, not \"much\""));
  for (const auto* text : {"", "-1GiB", "1e30", "nan", "inf", "0", "80Gib", "80GiB x", "1000TiB"})
    CHECK_THAT(refusal("memory", text), Contains("expected a size"));
  for (const auto* text : {"5", "us", "-1us", "5 hours", "1e30s"})
    CHECK_THAT(refusal("kernel_time", text), Contains("expected a time"));
  for (const auto* text : {"0", "-3", "1.5", "many", "99999999"})
    CHECK_THAT(refusal("multiprocessors", text), Contains("expected a whole number"));
  for (const auto* text : {"9", "9.", ".9", "9.0.1", "0.1", "9.10", "x"})
    CHECK_THAT(refusal("compute_capability", text), Contains("expected a compute capability"));
  for (const auto* text : {"0", "-1", "fast", "1 GB/s"})
    CHECK_THAT(refusal("memory_gb_per_s", text), Contains("expected GB/s"));
  CHECK_THAT(refusal("name", "two\nlines"), Contains("expected a name"));
  CHECK_THAT(refusal("memry", "1GiB"), Contains("expected one of name, compute_capability"));
}

TEST_CASE("every profile is what its fields say") {
  for (auto wanted : device_profiles()) {
    wanted.devices_per_host = 3;
    wanted.kernel_ns = 1234567;
    wanted.kernels = {{"gemm<float, 2>(float*)=*", {}, 1e9, 2.5e12, 0, 0, 989e3},
                      {"_Z5scale*", 17},
                      {"_Z6stream", {}, 0, 0, 8, 0.125}};
    const auto text = to_fields(wanted);
    const auto found = from_fields(text);
    REQUIRE(found);
    CHECK(to_fields(*found) == text);
    CHECK(found->product_name == wanted.product_name);
    CHECK(found->memory_bytes == wanted.memory_bytes);
    CHECK(found->memory_bytes_per_ns == wanted.memory_bytes_per_ns);
    CHECK(found->clock_khz == wanted.clock_khz);
    REQUIRE(found->kernels.size() == 3);
    CHECK(found->kernels[0].name == "gemm<float, 2>(float*)=*");
    CHECK(found->kernels[0].flops_per_ns == 989e3);
    CHECK(!found->kernels[0].time_ns);
    CHECK(found->kernels[1].time_ns == 17u);
    CHECK(found->kernels[2].flops_per_thread == 0.125);
  }
}

TEST_CASE("fields that are none are refused") {
  CHECK_FALSE(from_fields("memory"));
  CHECK_FALSE(from_fields("memory=x\n"));
  CHECK_FALSE(from_fields("kernel.time=1us\n"));
  CHECK(from_fields("")->product_name == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("a kernel has a name, and a time or a cost") {
  CHECK(check_kernel({"f", 5}));
  CHECK(check_kernel({"f", {}, 1}));
  CHECK(check_kernel({"f", 0}));
  CHECK_FALSE(check_kernel({"", 5}));
  CHECK_FALSE(check_kernel({"f"}));
  CHECK_FALSE(check_kernel({"f", 5, 1}));
  CHECK_FALSE(check_kernel({"f", {}, 0, 0, 0, 0, 989e3}));
}

TEST_CASE("a device has more memory than its context holds") {
  auto device = device_profiles().front();
  CHECK(check_device(device));
  device.memory_bytes = device.context_bytes;
  CHECK_FALSE(check_device(device));
}

}  // namespace
}  // namespace troupe
