// A damaged file: never a crash, never other nodes than were written.
#include <catch2/catch.hpp>

#include "graph/prism_trace_reader.hpp"
#include "graph/prism_trace_writer.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

/// The small graph, each rank in several chunks, so that fronts of it differ.
std::vector<char> sample_bytes(const std::string& path) {
  const auto graph = sample::small_graph();
  auto writer = prism_trace_writer::create(
      path, {.world = graph.world, .stage = graph.stage, .metadata = graph.metadata});
  REQUIRE(writer);
  auto first = graph, second = graph;
  for (std::uint32_t rank = 0; rank < graph.world; ++rank) {
    first.ranks[rank].resize(8);
    second.ranks[rank].erase(second.ranks[rank].begin(), second.ranks[rank].begin() + 8);
  }
  first.slots.resize(2);
  REQUIRE(sample::write(first, **writer));
  REQUIRE((*writer)->flush());
  for (std::uint32_t rank = 0; rank < graph.world; ++rank)
    REQUIRE((*writer)->append({rank}, second.ranks[rank]));
  REQUIRE((*writer)->append(std::span(graph.slots).subspan(2)));
  REQUIRE((*writer)->close());
  return bytes_of_file(path);
}

/// Each rank's nodes are a front part of the sample's.
bool is_front_of(const execution_graph& part, const execution_graph& whole) {
  if (part.world != whole.world || part.stage != whole.stage || part.metadata != whole.metadata)
    return false;
  for (std::uint32_t rank = 0; rank < whole.world; ++rank) {
    const auto& nodes = part.ranks[rank];
    if (nodes.size() > whole.ranks[rank].size()
        || !std::equal(nodes.begin(), nodes.end(), whole.ranks[rank].begin()))
      return false;
  }
  return part.slots.size() <= whole.slots.size()
         && std::equal(part.slots.begin(), part.slots.end(), whole.slots.begin());
}

struct outcome {
  bool is_opened = false, is_loaded = false, is_cut = false;
  std::uint64_t dropped_bytes = 0;
  execution_graph graph;
  error why;
};

outcome read(const std::string& path) {
  outcome seen;
  auto reader = prism_trace_reader::open(path);
  if (!reader) {
    seen.why = reader.error();
    return seen;
  }
  seen.is_opened = true;
  seen.is_cut = (*reader)->is_cut();
  seen.dropped_bytes = (*reader)->dropped_bytes();
  auto graph = (*reader)->load();
  seen.is_loaded = bool(graph);
  if (graph)
    seen.graph = std::move(*graph);
  else
    seen.why = graph.error();
  return seen;
}

}  // namespace

TEST_CASE("a file cut at any byte is read up to its last whole chunk, and says so") {
  temporary_folder folder;
  const auto whole = sample::small_graph();
  const auto bytes = sample_bytes(folder.file("whole"));
  const auto path = folder.file("cut");
  std::size_t fronts = 0, most_nodes = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write_file(path, bytes.data(), length);
    const auto seen = read(path);
    INFO("cut at " << length << " of " << bytes.size() << ": " << seen.why.context);
    if (!seen.is_opened) {
      REQUIRE(fronts == 0);  // only within the header
      REQUIRE(seen.why.code == errc::bad_input);
      REQUIRE(seen.why.context.find(path) != std::string::npos);
      continue;
    }
    ++fronts;
    REQUIRE(seen.is_loaded);
    REQUIRE(seen.is_cut);
    REQUIRE(seen.dropped_bytes < length);
    REQUIRE(is_front_of(seen.graph, whole));
    std::size_t nodes = 0;
    for (const auto& rank : seen.graph.ranks) nodes += rank.size();
    REQUIRE(nodes >= most_nodes);  // a longer front never has less
    most_nodes = nodes;
  }
  CHECK(fronts > bytes.size() / 2);
  CHECK(most_nodes > 0);
  write_file(path, bytes.data(), bytes.size());
  CHECK(sample::equal(read(path).graph, whole));
}

TEST_CASE("a flipped byte is found wherever it is") {
  temporary_folder folder;
  const auto whole = sample::small_graph();
  const auto bytes = sample_bytes(folder.file("whole"));
  const auto path = folder.file("flipped");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int mask : {0x01, 0x80, 0xff}) {
      auto changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ mask);
      write_file(path, changed.data(), changed.size());
      const auto seen = read(path);
      INFO("byte " << at << " of " << bytes.size() << " flipped by " << mask);
      REQUIRE_FALSE(seen.is_loaded);
      REQUIRE(seen.why.code == errc::bad_input);
      REQUIRE(seen.why.context.find(path + ", byte ") != std::string::npos);
    }
  }
}

TEST_CASE("bytes behind the end are not ignored") {
  temporary_folder folder;
  auto bytes = sample_bytes(folder.file("whole"));
  const auto path = folder.file("longer");
  for (int more : {1, 8, 16, 32, 64}) {
    bytes.push_back('x');
    auto longer = bytes;
    longer.resize(bytes.size() + static_cast<std::size_t>(more), 'x');
    write_file(path, longer.data(), longer.size());
    const auto seen = read(path);
    CHECK_FALSE(seen.is_opened);
    CHECK(seen.why.code == errc::bad_input);
  }
}

TEST_CASE("a tail of zeros, as a crashed machine leaves it, is a cut") {
  temporary_folder folder;
  const auto whole = sample::small_graph();
  const auto bytes = sample_bytes(folder.file("whole"));
  const auto path = folder.file("zeros");
  for (std::size_t kept = bytes.size() / 2; kept < bytes.size(); kept += 7) {
    auto changed = bytes;
    std::fill(changed.begin() + static_cast<std::ptrdiff_t>(kept), changed.end(), 0);
    changed.resize(bytes.size() + 4096);
    write_file(path, changed.data(), changed.size());
    const auto seen = read(path);
    INFO("zeros from " << kept << ": " << seen.why.context);
    REQUIRE(seen.is_loaded);
    REQUIRE(seen.is_cut);
    REQUIRE(is_front_of(seen.graph, whole));
  }
}

TEST_CASE("what is no trace file is refused at once") {
  temporary_folder folder;
  write_file(folder.file("empty"), "", 0);
  write_file(folder.file("text"), "rank 0 {\n", 9);
  write_file(folder.file("front"), "PrismTrace", 10);
  for (const auto& path :
       {folder.file("empty"), folder.file("text"), folder.file("front"), folder.file("missing"),
        folder.file(""), std::string("/dev/zero"), std::string("/dev/null"), std::string("")}) {
    const auto seen = read(path);
    CHECK_FALSE(seen.is_opened);
    CHECK(seen.why.code == errc::bad_input);
    CHECK(seen.why.context.find(path) != std::string::npos);
  }
}
