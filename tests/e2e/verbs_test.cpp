// verbs: what each verb promises of its output, on a run that went well: DESIGN's keys and what
// must hold among them.

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

/// A run of four ranks, each with `sums` all-reduces of 100 doubles.
void run_sums(const workspace& here, int sums) {
  const auto ended =
      here.run({.program = {python(), test_program("sums.py"), std::to_string(sums), "100"}});
  INFO(describe(ended));
  REQUIRE(ended.status == 0);
}

void check_keys(const nlohmann::json& object, const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    INFO(key << " in " << object.dump().substr(0, 400));
    CHECK(object.contains(key));
  }
}

TEST_CASE("a run's report has DESIGN's keys, and its numbers fit each other") {
  const workspace here;
  run_sums(here, 25);
  const auto report = here.report().value();
  check_keys(report, {"outcome", "findings", "world", "slots", "wall_ns", "switches",
                      "switches_least", "switch_ns", "operations", "ranks", "runner_cpu_ns"});
  CHECK(report.at("outcome") == "done");
  CHECK(report.at("findings").empty());
  CHECK(report.at("operations").at("all_reduce").at("count") == 4 * 25);
  CHECK(report.at("operations").at("all_reduce").at("bytes") == 4 * 25 * 100 * 8);
  CHECK(report.at("switches") >= report.at("switches_least"));
  CHECK(report.at("switch_ns").at("p99") >= report.at("switch_ns").at("p50"));
  REQUIRE(report.at("ranks").size() == 4);
  for (int rank = 0; rank < 4; ++rank) {
    const auto& each = report.at("ranks").at(rank);
    CHECK(each.at("rank") == rank);
    CHECK(each.at("exit") == 0);
    CHECK(each.at("cpu_ns") > 0);
    CHECK(each.at("peak_bytes") > 1'000'000);
    CHECK(each.at("blocked_ns") <= report.at("wall_ns"));
  }
}

TEST_CASE(
    "a report on standard output is one JSON object, the program's own output goes to standard "
    "error") {
  const workspace here;
  const auto ended = here.verb(
      {"run", "--world", "2", "--no-trace", "--json", "-", "--", test_program("greet.sh")});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  const auto report = nlohmann::json::parse(ended.out, nullptr, false);
  REQUIRE(report.is_object());
  CHECK(report.at("world") == 2);
  CHECK_THAT(ended.err, Contains("[0] rank 0 of 2") && Contains("[1] rank 1 of 2"));
}

TEST_CASE("inspect tells what the run did") {
  const workspace here;
  run_sums(here, 25);
  const auto trace = here.inspect(here.trace()).value();
  check_keys(trace, {"world", "stage", "nodes", "edges", "communicators", "operations", "digest",
                     "digests", "traffic", "bytes_per_node"});
  CHECK(trace.at("world") == 4);
  CHECK(trace.at("nodes") >= 4 * 25);
  CHECK(trace.at("operations").at("all_reduce").at("count") == 4 * 25);
  CHECK(trace.at("operations").at("all_reduce").at("bytes") == 4 * 25 * 100 * 8);
  REQUIRE(trace.at("digests").size() == 4);
  for (const auto& entry : trace.at("traffic")) {
    REQUIRE(entry.size() == 3);
    CHECK(entry.at(0) < 4);
    CHECK(entry.at(1) < 4);
    CHECK(entry.at(0) != entry.at(1));
    CHECK(entry.at(2) > 0);
  }
  CHECK(!trace.at("traffic").empty());
  const auto printed = here.verb({"inspect", here.trace()});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out,
             Contains("all_reduce") && Contains(trace.at("digest").get<std::string>()));
}

TEST_CASE(
    "the digest tells programs apart that differ in one operation, and not two runs of one "
    "program") {
  const workspace one, same, other;
  run_sums(one, 12);
  run_sums(same, 12);
  run_sums(other, 13);
  const auto first = one.inspect(one.trace()).value();
  CHECK(first.at("digest") == same.inspect(same.trace()).value().at("digest"));
  CHECK(first.at("digests") == same.inspect(same.trace()).value().at("digests"));
  CHECK(first.at("digest") != other.inspect(other.trace()).value().at("digest"));
}

TEST_CASE("a timeline is Kineto-shaped JSON with every rank and its collectives") {
  const workspace here;
  run_sums(here, 10);
  const auto converted = here.verb({"convert", here.trace(), here.file("timeline.json")});
  INFO(describe(converted));
  REQUIRE(converted.status == 0);
  std::ifstream file(here.file("timeline.json"));
  const auto timeline = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(timeline.is_object());
  std::set<nlohmann::json> processes;
  int collectives = 0;
  for (const auto& event : timeline.at("traceEvents")) {
    check_keys(event, {"ph", "pid"});
    if (event.at("ph") != "X") continue;
    check_keys(event, {"name", "ts", "dur", "tid"});
    processes.insert(event.at("pid"));
    collectives += event.at("name").get<std::string>().find("all_reduce") != std::string::npos;
  }
  CHECK(processes.size() >= 4);
  CHECK(collectives >= 4 * 10);
}

TEST_CASE("a timeline for Perfetto is a sequence of trace packets to the file's end") {
  const workspace here;
  run_sums(here, 10);
  const auto converted = here.verb({"convert", here.trace(), here.file("timeline.perfetto")});
  INFO(describe(converted));
  REQUIRE(converted.status == 0);
  std::ifstream file(here.file("timeline.perfetto"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::size_t at = 0, packets = 0;
  while (at < bytes.size()) {
    REQUIRE(bytes[at++] == 0x0a);  // field 1 of Trace: a packet, with its length as a varint
    std::size_t length = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      length |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += length;
    ++packets;
  }
  CHECK(at == bytes.size());
  CHECK(packets > 4 * 10 * 2);
}

TEST_CASE("convert refuses an output it does not know and leaves no file") {
  const workspace here;
  run_sums(here, 3);
  const auto ended = here.verb({"convert", here.trace(), here.file("timeline.docx")});
  INFO(describe(ended));
  CHECK(ended.status == 2);
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains("timeline.docx"));
  CHECK(!std::ifstream(here.file("timeline.docx")));
}

TEST_CASE("doctor finds everything a run needs here") {
  const workspace here;
  const auto ended = here.verb({"doctor", "--json", "-", "--python", python()});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  const auto told = nlohmann::json::parse(ended.out, nullptr, false);
  REQUIRE(told.is_object());
  CHECK(told.at("diagnoses").size() >= 4);
}

}  // namespace
}  // namespace troupe::e2e
