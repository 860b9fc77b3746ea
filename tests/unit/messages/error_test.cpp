// error_test: codes have names, sentences and exit statuses; results hold one thing or the other.
#include "messages/error.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

using namespace troupe;

namespace {

result<int> halve(int n) {
  if (n % 2) return error{errc::bad_input, std::to_string(n) + " is odd"};
  return n / 2;
}

result<std::string> quarter(int n) {
  TROUPE_TRY(half, halve(n));
  TROUPE_TRY(fourth, halve(half));
  return std::to_string(fourth);
}

}  // namespace

TEST_CASE("TROUPE_TRY hands values on and errors up") {
  REQUIRE(quarter(12));
  CHECK(*quarter(12) == "3");
  REQUIRE_FALSE(quarter(6));
  CHECK(quarter(6).error().context == "3 is odd");
}

TEST_CASE("a result can hold what only moves") {
  result<std::unique_ptr<int>> held(std::make_unique<int>(5));
  auto taken = *std::move(held);
  CHECK(*taken == 5);
}

TEST_CASE("result<void> is success unless told why not") {
  CHECK(result<void>{});
  result<void> failed = error{errc::lost_rank, ""};
  REQUIRE_FALSE(failed);
  CHECK(to_string(failed.error()) == sentence(errc::lost_rank));
  CHECK(to_string(error{errc::lost_rank, "rank 3"}) == "rank 3");
}

TEST_CASE("exit statuses are the documented ones") {
  CHECK(exit_status(errc::none) == 0);
  CHECK(exit_status(errc::program_failed) == 1);
  CHECK(exit_status(errc::usage) == 2);
  CHECK(exit_status(errc::bad_input) == 3);
  CHECK(exit_status(errc::mismatch) == 4);
  CHECK(exit_status(errc::deadlock) == 4);
  CHECK(exit_status(errc::lost_rank) == 4);
  CHECK(exit_status(errc::invalid_estimate) == 5);
  CHECK(exit_status(errc::no_resources) == 6);
  CHECK(exit_status(errc::internal) == 70);
  CHECK(exit_status(errc::interrupted) == 130);
}

TEST_CASE("every code has a name of its own and a sentence without a full stop") {
  std::set<std::string> names;
  int count = 0;
#define TROUPE_ERRC(name, status, text)                   \
  CHECK(std::string(to_string(errc::name)) == #name);     \
  CHECK(std::string(sentence(errc::name)).back() != '.'); \
  names.insert(to_string(errc::name));                    \
  ++count;
#include "messages/errc.def"
#undef TROUPE_ERRC
  CHECK(static_cast<int>(names.size()) == count);
  CHECK(std::string(to_string(static_cast<errc>(250))) == "unknown");
  CHECK(exit_status(static_cast<errc>(250)) == 70);
}
