// kernel_times: how long launches last, by what is known of their kernels.
#include "interpose/cudart/kernel_times.hpp"

#include <catch2/catch.hpp>

namespace troupe {
namespace {

constexpr troupe_launch launch{{4, 2, 1}, {32, 4, 2}, 0};  // 2048 threads

/// 100 GB/s, 1 TFLOPS.
device_profile slow_device(std::vector<kernel_cost> kernels) {
  auto device = device_profiles().front();
  device.memory_bytes_per_ns = 100;
  device.flops_per_ns = 1000;
  device.kernel_ns = 77;
  device.kernels = std::move(kernels);
  return device;
}

std::uint64_t time_of(const device_profile& device, const char* name,
                      const troupe_host_kernel* host = nullptr) {
  kernel_times times(device);
  const device_kernel kernel{name};
  const auto first = times.duration_ns(kernel, launch, host, nullptr);
  CHECK(times.duration_ns(kernel, launch, host, nullptr) == first);
  return first;
}

TEST_CASE("a kernel of which nothing is known lasts as long as any") {
  CHECK(time_of(slow_device({}), "_Z5scalePfif") == 77);
  CHECK(time_of(slow_device({{"other", 5}}), "_Z5scalePfif") == 77);
}

TEST_CASE("the first entry that fits a name counts, mangled or not") {
  const auto device = slow_device({{"_Z5scalePfif", 1}, {"scale(*", 2}, {"*", 3}});
  CHECK(time_of(device, "_Z5scalePfif") == 1);
  CHECK(time_of(device, "_Z5scalePdid") == 2);
  CHECK(time_of(device, "_Z5shiftPf") == 3);
  CHECK(time_of(slow_device({{"void f<float>(float*)", 9}}), "_Z1fIfEvPT_") == 9);
  CHECK(time_of(slow_device({{"plain", 4}}), "plain") == 4);  // extern "C"
}

TEST_CASE("bytes and operations take what memory and processors need, the longer of the two") {
  CHECK(time_of(slow_device({{"f", {}, 1e6, 1e6}}), "f") == 10'000);
  CHECK(time_of(slow_device({{"f", {}, 1e6, 5e7}}), "f") == 50'000);
  CHECK(time_of(slow_device({{"f", {}, 0, 5e7, 0, 0, 50'000}}), "f") == 1000);
  CHECK(time_of(slow_device({{"f", {}, 0, 0, 100}}), "f") == 2048);
  CHECK(time_of(slow_device({{"f", {}, 200, 0, 0, 1000}}), "f") == 2048);
  CHECK(time_of(slow_device({{"f", {}, 1e24, 1e24, 1e24, 1e24}}), "f")
        == 1'000'000'000'000'000'000);
}

void runs(const troupe_launch*, void**) {}
void costs(const troupe_launch* of, void**, troupe_cost* cost) { cost->bytes = of->grid[0] * 1000; }

TEST_CASE("the function that stands for a kernel says its cost, unless the table does") {
  const troupe_host_kernel with_cost{"f", runs, 0, nullptr, costs};
  const troupe_host_kernel without{"f", runs, 0, nullptr, nullptr};
  CHECK(time_of(slow_device({}), "f", &with_cost) == 40);
  CHECK(time_of(slow_device({}), "f", &without) == 77);
  CHECK(time_of(slow_device({{"f", 5}}), "f", &with_cost) == 5);
}

TEST_CASE("entries that fit no kernel are told") {
  const auto device = slow_device({{"_Z5scale*", 1}, {"shift(float*)", 2}, {"scael*", 3}});
  const kernel_times times(device);
  CHECK(times.unused({"_Z5scalePf", "_Z5shiftPf"}) == std::vector<std::string>{"scael*"});
  CHECK(times.unused({}).size() == 3);
}

}  // namespace
}  // namespace troupe
