// units_test: sizes compare as numbers, and the multiples are the binary ones.
#include "messages/units.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "messages/release_reason.hpp"

using namespace troupe;

TEST_CASE("sizes are ordered and their multiples binary") {
  CHECK(bytes{1} < bytes{2});
  CHECK(bytes{GiB} == bytes{1ull << 30});
  CHECK(MiB == 1024 * KiB);
}

TEST_CASE("a reason to give up a slot has a name") {
  CHECK(std::string(to_string(release_reason::collective)) == "collective");
  CHECK(std::string(to_string(release_reason::overdue)) == "overdue");
  CHECK(std::string(to_string(static_cast<release_reason>(99))) == "unknown");
}
