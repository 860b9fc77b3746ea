// goal_fuzz_test: damaged GOAL files, text and binary, end in an error or in a schedule that is
// written and read back equal; never in a crash or in memory that the file does not warrant.
//
// Texts are also damaged by words and lines, so that most of what is behind the damage still
// parses.
#include <catch2/catch.hpp>

#include "graph/goal/schedule_file.hpp"
#include "tests/fuzz/messages/mutation.hpp"
#include "tests/unit/graph/goal_sample.hpp"

using namespace troupe;
using namespace troupe::goal;
using octets = fuzz::bytes;

namespace {

constexpr std::size_t memory_max = 4u << 20;  // the samples are some kilobytes, the blocks 256 KiB

octets octets_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<octets> samples(bool as_text) {
  std::mt19937_64 chance(11);
  std::vector<octets> all;
  for (int i = 0; i < 12; ++i) {
    const auto one = sample::random_schedule(chance, i % 2 == 0);
    all.push_back(octets_of(as_text ? sample::text_of(one) : sample::binary_of(one)));
  }
  return all;
}

/// A word becomes another one, or a line comes twice, goes, or changes its place.
octets with_changed_words(const octets& text, fuzz::mutator& mutator) {
  static const std::vector<std::string> words = {
      "rank", "num_ranks", "{",  "}",  "calc",     "send",       "recv", "8b",    "b",
      "to",   "from",      "-1", ":",  "requires", "irequires",  "l1",   "l2:",   "tag",
      "cpu",  "nic",       "//", "/*", "*/",       "4294967296", "\r\n", "65536", "0"};
  std::vector<std::string> lines{""};
  for (const auto c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back().push_back(static_cast<char>(c));
  for (auto n = 1 + mutator.below(3); n > 0; --n) {
    auto& line = lines[mutator.below(lines.size())];
    switch (mutator.below(4)) {
      case 0:
        line = lines[mutator.below(lines.size())];
        break;
      case 1:
        line.clear();
        break;
      case 2:
        std::swap(line, lines[mutator.below(lines.size())]);
        break;
      default: {
        const auto begin = std::min(line.find(' ', mutator.below(line.size() + 1)), line.size());
        const auto end = std::min(line.find(' ', begin + 1), line.size());
        line.replace(begin, end - begin, " " + words[mutator.below(words.size())]);
      }
    }
  }
  std::string made;
  for (const auto& line : lines) made += line + "\n";
  return octets_of(made);
}

struct tally {
  std::uint64_t rounds = 0, refused = 0, believed = 0;
};

void read(const octets& file, const std::string& path, tally& seen) {
  write_file(path, reinterpret_cast<const char*>(file.data()), file.size());
  ++seen.rounds;
  std::vector<text_problem> problems;
  const auto schedule = read_schedule(path, &problems);
  if (!schedule) {
    ++seen.refused;
    REQUIRE(schedule.error().code == errc::bad_input);
    REQUIRE(schedule.error().context.starts_with(path));
    REQUIRE(problems.size() <= text_problems_max);
    return;
  }
  ++seen.believed;
  for (const auto& each : schedule->operations()) REQUIRE(each.rank < schedule->ranks());
  if (seen.believed % 8 != 0) return;  // the rest of the time is better spent on damage
  const auto from_text = sample::parsed(sample::text_of(*schedule));
  const auto from_binary = sample::from_binary(sample::binary_of(*schedule));
  REQUIRE((from_text && from_binary));
  REQUIRE((equal(*from_text, *schedule) && equal(*from_binary, *schedule)));
}

}  // namespace

TEST_CASE("a damaged GOAL text is refused with its place, or read as what it says") {
  fuzz::mutator mutator;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  temporary_folder folder;
  const auto files = samples(true);
  fuzz::largest_allocation = 0;
  tally seen;
  for (fuzz::time_limit limit; !limit.over();) {
    auto file = files[mutator.below(files.size())];
    if (mutator.below(4) != 0) file = with_changed_words(file, mutator);
    if (mutator.below(4) == 0) file = mutator.damaged(std::move(file), files);
    read(file, folder.file("x"), seen);
  }
  CHECK(seen.refused > seen.rounds / 10);
  CHECK(seen.believed > seen.rounds / 100);
  CHECK(fuzz::largest_allocation < memory_max);
}

TEST_CASE("a damaged GOAL binary is refused, or read as what it says") {
  fuzz::mutator mutator;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  temporary_folder folder;
  const auto files = samples(false);
  fuzz::largest_allocation = 0;
  tally seen;
  for (fuzz::time_limit limit; !limit.over();) {
    auto file = files[mutator.below(files.size())];
    if (mutator.below(2) == 0) {
      file = mutator.damaged(std::move(file), files);
    } else if (file.size() > 8) {  // one number, anywhere
      const auto at = mutator.below(file.size());
      file[at] = static_cast<std::uint8_t>(file[at] + mutator.below(5) - 2);
    }
    read(file, folder.file("x"), seen);
  }
  CHECK(seen.refused > seen.rounds / 10);
  CHECK(seen.believed > seen.rounds / 100);
  CHECK(fuzz::largest_allocation < memory_max);
}
