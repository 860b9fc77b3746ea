// kernel_names: which host function stands for a kernel, by its name.
#include <catch2/catch.hpp>

#include <string>

#include "interpose/cudart/kernel_registry.hpp"
#include "interpose/cudart/name_pattern.hpp"

namespace troupe {
namespace {

TEST_CASE("a star stands for any characters, none too") {
  CHECK(fits_pattern("_Z4scalePf", "_Z4scalePf"));
  CHECK(fits_pattern("_ZN12_GLOBAL__N_13addEv", "_ZN*3addEv"));
  CHECK(fits_pattern("abab", "*ab"));
  CHECK(fits_pattern("aXbXc", "a*X*c"));
  CHECK(fits_pattern("ac", "a*c*"));
  CHECK(fits_pattern("", "*"));
  CHECK(fits_pattern("void f(float*)", "void f(float*)"));
  CHECK_FALSE(fits_pattern("_Z4scalePfi", "_Z4scalePf"));
  CHECK_FALSE(fits_pattern("_Z4scale", "_Z4scalePf"));
  CHECK_FALSE(fits_pattern("abac", "*ab"));
  CHECK_FALSE(fits_pattern("", "a*"));
  CHECK_FALSE(fits_pattern("a", ""));
}

TEST_CASE("a pattern with many stars does not take for ever") {
  const std::string name(5000, 'a');
  CHECK_FALSE(fits_pattern(name, "*a*a*a*a*a*a*a*a*a*a*b"));
}

void first(const troupe_launch*, void**) {}
void second(const troupe_launch*, void**) {}

TEST_CASE("of several functions for a kernel the one supplied first stands for it") {
  kernel_registry registry;
  const int stub = 0, other_stub = 0;
  const auto* kernel = registry.add(&stub, "_Z5scalev");
  CHECK(registry.host_of(*kernel) == nullptr);
  const troupe_host_kernel exact[] = {{"_Z5scalev", first, 0, nullptr, nullptr}, {}};
  const troupe_host_kernel wide[] = {{"_Z5*", second, 0, nullptr, nullptr}, {}};
  registry.supply(exact);
  registry.supply(wide);
  CHECK(registry.host_of(*kernel)->run == first);
  const auto* late = registry.add(&other_stub, "_Z5shiftv");
  CHECK(registry.host_of(*late)->run == second);
  CHECK(registry.find(&other_stub) == late);
  CHECK(registry.find(late) == late);
  CHECK(registry.find_handle(&other_stub) == nullptr);
}

}  // namespace
}  // namespace troupe
