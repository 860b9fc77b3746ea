// journal_test: what was appended is read back, torn tails are told and cut, and other files stay
// as they are.
#include "messages/journal.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <msgpack.hpp>

#include "tests/unit/messages/sample_records.hpp"

using namespace troupe;

namespace {

/// A directory of the test's own, gone with it.
struct temporary_directory {
  temporary_directory() {
    char name[] = "/tmp/troupe_journal_XXXXXX";
    path = mkdtemp(name);
  }
  ~temporary_directory() {
    unlink((path + "/j").c_str());
    rmdir(path.c_str());
  }
  std::string path;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<long>(bytes.size()));
}

void append_all(const std::string& path, const std::vector<journal::record>& records) {
  auto writer = journal_writer::open(path);
  REQUIRE(writer);
  for (auto& record : records) REQUIRE(writer->append(record));
}

}  // namespace

TEST_CASE("what was appended is read back, over several openings") {
  temporary_directory place;
  auto path = place.path + "/j";
  auto records = samples::journal_records();
  append_all(path, {records.begin(), records.begin() + 2});
  append_all(path, {records.begin() + 2, records.end()});
  auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->records == records);
  CHECK(contents->torn_bytes == 0);
}

TEST_CASE(
    "a record is in the file as soon as append returns, as a map that any msgpack reader knows") {
  temporary_directory place;
  auto path = place.path + "/j";
  auto writer = journal_writer::open(path);
  REQUIRE(writer);
  REQUIRE(writer->append(samples::journal_records()[3]));
  auto bytes = bytes_of(path);
  std::map<std::string, msgpack::object> fields;
  auto held = msgpack::unpack(bytes.data(), bytes.size());
  held.get().convert(fields);
  CHECK(fields.at("at_ns").as<int>() == 7);
  CHECK(fields.at("kind").as<std::string>() == "process_ended");
  CHECK(fields.at("rank").as<int>() == 63);
  CHECK(fields.at("wait_status").as<int>() == 9);
}

TEST_CASE("a tail torn at any byte loses only the torn record, and a writer goes on from there") {
  temporary_directory place;
  auto path = place.path + "/j";
  auto records = samples::journal_records();
  append_all(path, records);
  auto bytes = bytes_of(path);
  std::vector<std::size_t> ends;
  for (std::size_t n = 0; n <= records.size(); ++n) {
    unlink(path.c_str());
    append_all(path, {records.begin(), records.begin() + static_cast<long>(n)});
    ends.push_back(bytes_of(path).size());
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    INFO("cut after " << size << " bytes");
    std::size_t whole = 0;
    while (whole < records.size() && ends[whole + 1] <= size) ++whole;
    write_bytes(path, bytes.substr(0, size));
    auto contents = read_journal(path);
    REQUIRE(contents);
    CHECK(contents->records
          == std::vector(records.begin(), records.begin() + static_cast<long>(whole)));
    CHECK(contents->torn_bytes == size - ends[whole]);
    append_all(path, {records.back()});
    contents = read_journal(path);
    REQUIRE(contents);
    CHECK(contents->records.size() == whole + 1);
    CHECK(contents->records.back() == records.back());
    CHECK(contents->torn_bytes == 0);
  }
}

TEST_CASE("a file that is no journal is refused and stays as it is") {
  temporary_directory place;
  auto path = place.path + "/j";
  for (std::string bytes : {std::string("hello"), std::string("\xdf\xff\xff\xff\xff", 5),
                            std::string("\x81\xa3"
                                        "foo\x01",
                                        6),
                            std::string("\x82\xa5"
                                        "at_mx",
                                        7),
                            std::string("\x82\xa5"
                                        "at_ns\x01\xa4kind\xa3nix",
                                        17)}) {
    write_bytes(path, bytes);
    auto contents = read_journal(path);
    REQUIRE_FALSE(contents);
    CHECK(contents.error().code == errc::bad_input);
    CHECK(contents.error().context.find(path) == 0);
    auto writer = journal_writer::open(path);
    REQUIRE_FALSE(writer);
    CHECK(writer.error().code == errc::bad_input);
    CHECK(bytes_of(path) == bytes);
  }
}

TEST_CASE("the record that cannot be believed is named") {
  temporary_directory place;
  auto path = place.path + "/j";
  append_all(path, samples::journal_records());
  auto bytes = bytes_of(path);
  auto at = bytes.find("deadlock");
  REQUIRE(at != std::string::npos);
  bytes[at] = 'x';
  write_bytes(path, bytes);
  auto contents = read_journal(path);
  REQUIRE_FALSE(contents);
  CHECK(contents.error().context.find("record 3") != std::string::npos);
  CHECK(contents.error().context.find("finding") != std::string::npos);
}

TEST_CASE("keys of a later version are passed over") {
  temporary_directory place;
  auto path = place.path + "/j";
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  packer.pack_map(5);
  packer.pack("at_ns");
  packer.pack(1);
  packer.pack("kind");
  packer.pack("run_ended");
  packer.pack("weather");
  packer.pack(std::vector<int>{1, 2});
  packer.pack("outcome");
  packer.pack("mismatch");
  packer.pack("wall_ns");
  packer.pack(2);
  write_bytes(path, {buffer.data(), buffer.size()});
  auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->records
        == std::vector<journal::record>{{1, journal::run_ended{errc::mismatch, 2}}});
}

TEST_CASE("a disk that takes only part of a record keeps none of it, and later appends go on") {
  temporary_directory place;
  auto path = place.path + "/j";
  auto records = samples::journal_records();
  append_all(path, {records[0]});
  auto writer = journal_writer::open(path);
  REQUIRE(writer);
  auto before = bytes_of(path).size();

  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{}, tight{};
  getrlimit(RLIMIT_FSIZE, &old);
  tight = {before + 10, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  auto refused = writer->append(records[1]);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::no_resources);
  CHECK(bytes_of(path).size() == before);
  REQUIRE(writer->append(records[1]));
  CHECK(read_journal(path)->records == std::vector{records[0], records[1]});
}

TEST_CASE("long texts are cut, long lists refused") {
  temporary_directory place;
  auto path = place.path + "/j";
  auto writer = journal_writer::open(path);
  REQUIRE(writer);
  journal::finding found{
      .kind = errc::mismatch, .ranks = {}, .communicator = {}, .sequence = {}, .text = {}};
  found.text.assign(journal_text_bytes_max + 5, 'x');
  REQUIRE(writer->append({1, found}));
  found.ranks.resize(journal_list_length_max + 1);
  CHECK_FALSE(writer->append({1, found}));
  auto contents = read_journal(path);
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 1);
  CHECK(std::get<journal::finding>(contents->records[0].what).text.size()
        == journal_text_bytes_max);
}

TEST_CASE("what is not there or not a file is an error with its path") {
  auto missing = read_journal("/nonexistent/j");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().context.find("/nonexistent/j: ") == 0);
  CHECK_FALSE(read_journal("/dev/null"));
  auto writer = journal_writer::open("/nonexistent/j");
  REQUIRE_FALSE(writer);
  CHECK(writer.error().code == errc::no_resources);
}

TEST_CASE("a journal of format 1 is read") {
  auto contents = read_journal(TROUPE_GOLDEN_FOLDER "/journal_1.msgpack");
  REQUIRE(contents);
  CHECK(contents->records == samples::journal_records());
  CHECK(contents->torn_bytes == 0);
}
