// journal_fuzz_test: a damaged journal is read up to a torn end or refused, and costs no more
// memory than its size.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "messages/journal.hpp"
#include "tests/fuzz/messages/mutation.hpp"

using namespace troupe;
using fuzz::bytes;

namespace {

/// A file in memory, to be opened by its path.
class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("journal", MFD_CLOEXEC)) { REQUIRE(descriptor_ >= 0); }
  ~memory_file() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void hold(const bytes& content) {
    REQUIRE(ftruncate(descriptor_, 0) == 0);
    REQUIRE(pwrite(descriptor_, content.data(), content.size(), 0)
            == static_cast<ssize_t>(content.size()));
  }

  bytes content() const {
    bytes all(static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END)));
    REQUIRE(pread(descriptor_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int descriptor_;
};

bytes valid_journal() {
  memory_file file;
  auto writer = journal_writer::open(file.path());
  REQUIRE(writer);
  journal::run_planned planned{.program = "train.py",
                               .arguments = {"--a", "b"},
                               .world = 4,
                               .slots = 2,
                               .trace = "t.prism",
                               .pid = 1,
                               .version = "0.1.0"};
  REQUIRE(writer->append({0, planned}));
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    REQUIRE(writer->append({rank, journal::process_started{.rank = {rank}, .pid = 100}}));
  journal::finding found{.kind = errc::deadlock,
                         .ranks = {{0}, {3}},
                         .communicator = {77},
                         .sequence = {5},
                         .text = "rank 0 and rank 3 wait for each other"};
  REQUIRE(writer->append({1u << 30, found}));
  REQUIRE(writer->append({9, journal::process_ended{.rank = {0}, .pid = 100, .wait_status = 9}}));
  REQUIRE(writer->append({10, journal::run_ended{errc::deadlock, 1000}}));
  return file.content();
}

}  // namespace

TEST_CASE("a damaged journal is read up to a torn end or refused") {
  fuzz::mutator mutator;
  fuzz::time_limit time;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  auto valid = valid_journal();
  memory_file file;
  std::uint64_t tried = 0, whole = 0, torn = 0, refused = 0, bad = 0;
  fuzz::largest_allocation = 0;
  while (tried % 64 != 0 || !time.over()) {
    auto input = mutator.damaged(valid, {valid});
    file.hold(input);
    auto contents = read_journal(file.path());
    if (!contents) {
      ++refused;
      bad += contents.error().code != errc::bad_input;
      bad += bool(journal_writer::open(file.path())) || file.content() != input;
    } else {
      bad += contents->torn_bytes > input.size();
      contents->torn_bytes ? ++torn : ++whole;
      // A writer goes on after the last whole record, and the next reader sees both.
      auto writer = journal_writer::open(file.path());
      bad += !writer || !writer->append({1, journal::run_ended{}});
      auto after = read_journal(file.path());
      bad += !after || after->torn_bytes || after->records.size() != contents->records.size() + 1;
    }
    ++tried;
  }
  CHECK(tried > 1000);
  CHECK(whole > 0);
  CHECK(torn > 0);
  CHECK(refused > 0);
  CHECK(bad == 0);
  CHECK(fuzz::largest_allocation > 0);
  CHECK(fuzz::largest_allocation < (1u << 20));
}
