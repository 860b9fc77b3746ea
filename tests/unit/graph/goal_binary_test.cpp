// goal_binary: txt2bin's format to the byte, the wider one, and what is not believed of either.
#include <catch2/catch.hpp>

#include "graph/goal/binary_format.hpp"
#include "graph/goal/schedule_file.hpp"
#include "tests/unit/graph/goal_sample.hpp"

using namespace troupe;
using namespace troupe::goal;

namespace {

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  int digits = 0;
  for (const auto c : hex) {
    if (c == ' ') continue;
    const auto value = c <= '9' ? c - '0' : c - 'a' + 10;
    if (digits++ % 2 == 0)
      bytes.push_back(static_cast<char>(value << 4));
    else
      bytes.back() = static_cast<char>(bytes.back() | value);
  }
  return bytes;
}

const char* const ping =
    "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: calc 258 cpu 3\nb "
    "requires a\n}\nrank 1 {\nrecv 8b from -1 tag -1 nic 2\n}\n";

// Written by hand from the format's description.
const std::string ping_bytes = bytes_of(
    "7f10000000000000 02000000 03 02"
    "2600000000000000 8400000000000000 8400000000000000 b700000000000000"
    "02000000 01000000 00000000"
    "00000000 01 01000000 0800000000000000 01000000 00 00 01000000 00000000 00000000 01000000"
    "01000000 03 00000000 0201000000000000 00000000 03 00 00000000 01000000 00000000 01000000"
    "01000000"
    "01000000 01000000 00000000"
    "00000000 02 ffffffff 0800000000000000 ffffffff 00 02 00000000 00000000 00000000 00000000");

std::string with(std::string bytes, std::size_t at, std::uint8_t value) {
  bytes.at(at) = static_cast<char>(value);
  return bytes;
}

}  // namespace

TEST_CASE("a binary is txt2bin's, to the byte, where the values fit") {
  const auto schedule = sample::schedule_of(ping);
  CHECK(fits_txt2bin(schedule));
  CHECK(sample::binary_of(schedule) == ping_bytes);
  const auto read = sample::from_binary(ping_bytes);
  REQUIRE(read);
  CHECK(equal(*read, schedule));
}

TEST_CASE("a schedule written as binary reads back equal, in either width") {
  std::mt19937_64 chance(5);
  int wide = 0;
  for (int round = 0; round < 500; ++round) {
    const auto one = sample::random_schedule(chance, round % 2 == 0);
    const auto bytes = sample::binary_of(one);
    wide += !fits_txt2bin(one);
    const auto read = sample::from_binary(bytes);
    INFO((read ? "" : read.error().context));
    REQUIRE(read);
    REQUIRE(equal(one, *read));
    REQUIRE(sample::binary_of(*read) == bytes);
  }
  CHECK(wide > 100);
}

TEST_CASE("a value too wide for txt2bin's format is kept in the wider one") {
  for (const auto* statement :
       {"calc 1 cpu 256", "send 1b to 0 nic 256", "send 1b to 0 tag 4294967295"}) {
    const auto one =
        sample::schedule_of(std::string("num_ranks 1\nrank 0 {\n") + statement + "\n}\n");
    CHECK_FALSE(fits_txt2bin(one));
    const auto bytes = sample::binary_of(one);
    CHECK(bytes.starts_with("TRPEGOAL"));
    const auto read = sample::from_binary(bytes);
    REQUIRE(read);
    CHECK(equal(one, *read));
    const auto newer = sample::from_binary(with(bytes, 8, 2));
    REQUIRE_FALSE(newer);
    CHECK_THAT(newer.error().context, Catch::Matchers::Contains("version 2"));
  }
}

TEST_CASE("what a binary says is held against the file") {
  const std::pair<std::string, const char*> cases[] = {
      {"", "too short"},
      {ping_bytes.substr(0, 13), "too short"},
      {ping_bytes.substr(0, 117), "rank 0: its section is not within the file"},
      {with(ping_bytes, 0, 0x80), "no GOAL binary"},
      {bytes_of("2609000000000000") + ping_bytes.substr(8), "destroyed this schedule"},
      {with(ping_bytes, 8, 0), "no ranks"},
      {with(ping_bytes, 11, 0xff), "too short"},
      {with(ping_bytes, 20, 0xff), "rank 0: its section is not within the file"},
      {with(ping_bytes, 14, 0x25), "rank 0: its section lies over"},
      {with(ping_bytes, 30, 0x83), "rank 1: its section lies over"},
      {with(ping_bytes, 46, 9), "rank 0: it says 9 operations"},
      {with(ping_bytes, 50, 3), "rank 0: it says 2 operations and 3 roots"},
      {with(ping_bytes, 54, 1), "operation 1 is said to be a root"},
      {with(ping_bytes, 62, 9), "rank 0: operation 0: its type is 9"},
      {with(ping_bytes, 63, 2), "operation 0: its peer is rank 2 of 2"},
      {with(ping_bytes, 97, 0), "operation 1: it says that it waits for 0 others, and waits for 1"},
      {with(ping_bytes, 81, 2), "its dependents are not within the appendix"},
      {with(ping_bytes, 81, 0), "its appendix holds 1 dependents, its operations have 0"},
      {with(ping_bytes, 136, 99), "operation 0: its dependent is operation 99 of 2"},
  };
  for (const auto& [bytes, said] : cases) {
    const auto read = sample::from_binary(bytes);
    INFO(said);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::bad_input);
    CHECK_THAT(read.error().context,
               Catch::Matchers::Contains(said) && Catch::Matchers::Contains("a.bin: "));
  }
}

TEST_CASE("what a binary says of a calc's peer, tag and nic is nothing") {
  constexpr std::size_t calc = 97;  // in ping_bytes
  for (const std::size_t field : {5, 17, 22}) {
    const auto read = sample::from_binary(with(ping_bytes, calc + field, 1));
    REQUIRE(read);
    CHECK(equal(*read, sample::schedule_of(ping)));
  }
}

TEST_CASE("a file's beginning tells its kind") {
  temporary_folder folder;
  const auto kind_of = [&](const std::string& bytes) {
    write_file(folder.file("x"), bytes.data(), bytes.size());
    return guess_kind(*input_file::open(folder.file("x")));
  };
  CHECK(kind_of(ping_bytes) == guess::binary);
  CHECK(kind_of(ping) == guess::text);
  CHECK(kind_of("\n // made by hand\nnum_ranks 1") == guess::text);
  CHECK(kind_of("GIF89a") == guess::other);
  CHECK(kind_of("") == guess::other);
  write_file(folder.file("x"), ping, std::strlen(ping));
  const auto of_text = read_schedule(folder.file("x"));
  write_file(folder.file("y"), ping_bytes.data(), ping_bytes.size());
  const auto of_binary = read_schedule(folder.file("y"));
  REQUIRE((of_text && of_binary));
  CHECK(equal(*of_text, *of_binary));
}
