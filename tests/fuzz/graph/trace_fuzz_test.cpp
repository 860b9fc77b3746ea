// trace_fuzz_test: damaged traces end in an error or in a graph that keeps every rule; never in a
// crash or in much memory.
//
// Damage to a file's bytes is caught by checksums, so most rounds damage what the checksums cover
// and make them anew: a record's bytes, a column's bytes, a chunk's numbers. A graph that is
// believed is written again and must read equal.
#include <catch2/catch.hpp>

#include "graph/graph_summary.hpp"
#include "graph/prism_trace_format.hpp"
#include "graph/prism_trace_reader.hpp"
#include "graph/prism_trace_writer.hpp"
#include "graph/rank_timeline.hpp"
#include "messages/trace_codec.hpp"
#include "tests/fuzz/messages/mutation.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;
using octets = fuzz::bytes;
namespace format = prism_trace_format;

namespace {

constexpr std::size_t memory_max = 80u << 20;  // a column's bound and the vectors made from it

octets file_of(const std::string& path, std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  auto graph = sample::small_graph();
  for (auto& what : sample::training_nodes(300, chance)) graph.ranks[3].push_back(what);
  auto writer = prism_trace_writer::create(
      path, {.world = 2, .stage = graph.stage, .metadata = graph.metadata});
  REQUIRE(writer);
  REQUIRE((*writer)->grow(graph.world));  // a chunk of every kind
  REQUIRE(sample::write(graph, **writer));
  REQUIRE((*writer)->close());
  const auto file = bytes_of_file(path);
  return {file.begin(), file.end()};
}

/// The records' bodies, in order; the footer is left out.
std::vector<octets> bodies_of(const octets& file) {
  std::vector<octets> bodies;
  for (std::size_t at = format::file_magic.size(); at < file.size();) {
    const auto frame =
        format::parse_frame(std::span(file).subspan(at).first<format::frame_bytes>());
    REQUIRE(frame);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at + format::frame_bytes);
    if (!frame->is_footer) bodies.emplace_back(begin, begin + frame->body_bytes);
    at += format::frame_bytes + frame->body_bytes;
  }
  return bodies;
}

/// With right checksums. `footer`: at the last body, which is the index.
octets file_from(const std::vector<octets>& bodies, bool has_footer) {
  octets file(format::file_magic.begin(), format::file_magic.end());
  std::size_t index_at = 0;
  for (const auto& body : bodies) {
    index_at = file.size();
    auto padded = body;
    padded.resize((body.size() + 7) / 8 * 8);
    const auto framed = format::framed_record(padded);
    file.insert(file.end(), framed.begin(), framed.end());
  }
  if (has_footer) {
    const auto last = format::framed_footer({index_at, bodies.size() - 2});
    file.insert(file.end(), last.begin(), last.end());
  }
  return file;
}

/// The record decoded, something in it changed, and encoded again. Nothing where it does not
/// decode.
octets with_changed_chunk(const octets& body, fuzz::mutator& mutator,
                          const std::vector<octets>& all) {
  std::vector<std::uint64_t> aligned((body.size() + 7) / 8);
  std::memcpy(aligned.data(), body.data(), body.size());
  auto record = decode_trace_record(
      {reinterpret_cast<const std::uint8_t*>(aligned.data()), aligned.size() * 8});
  if (!record || !std::holds_alternative<trace_chunk>(*record)) return body;
  auto& chunk = std::get<trace_chunk>(*record);
  std::vector<octets> held;
  for (auto& column : chunk.columns) {
    octets raw(column.data.begin(), column.data.end());
    if (column.codec == column_codec::zstd && mutator.below(4) != 0) {
      column_unpacker unpacker;
      if (auto unpacked = unpacker.unpack(column, 0))
        raw.assign(unpacked->begin(), unpacked->end());
      column.codec = column_codec::plain;
    }
    if (mutator.below(4) == 0) raw = mutator.damaged(std::move(raw), all);
    if (mutator.below(16) != 0) column.raw_size = static_cast<std::uint32_t>(raw.size());
    held.push_back(std::move(raw));
  }
  for (std::size_t i = 0; i < held.size(); ++i) chunk.columns[i].data = held[i];
  for (auto* number : {&chunk.rank, &chunk.first, &chunk.count})
    if (mutator.below(16) == 0) *number += static_cast<std::uint32_t>(mutator.below(5)) - 2;
  return encode(*record);
}

/// Whatever was believed keeps the rules: the writer takes it, and it reads equal.
void check_believed(const execution_graph& graph, const std::string& path) {
  auto writer = prism_trace_writer::create(
      path, {.world = graph.world, .stage = graph.stage, .metadata = graph.metadata});
  REQUIRE(writer);
  auto wrote = sample::write(graph, **writer);
  INFO((wrote ? "" : wrote.error().context));
  REQUIRE(wrote);
  REQUIRE((*writer)->close());
  auto reader = prism_trace_reader::open(path);
  REQUIRE(reader);
  auto again = (*reader)->load();
  REQUIRE(again);
  REQUIRE(sample::equal(*again, graph));
}

struct tally {
  std::uint64_t rounds = 0, refused = 0, believed = 0;
};

void read(const octets& file, const std::string& path, const std::string& again, tally& seen) {
  write_file(path, reinterpret_cast<const char*>(file.data()), file.size());
  ++seen.rounds;
  auto reader = prism_trace_reader::open(path);
  auto graph =
      reader ? (*reader)->load(std::uint64_t{64} << 20) : result<execution_graph>(reader.error());
  if (!graph) {
    ++seen.refused;
    REQUIRE((graph.error().code == errc::bad_input || graph.error().code == errc::no_resources));
    REQUIRE(graph.error().context.find(path) != std::string::npos);
    return;
  }
  ++seen.believed;
  auto of_file = summarize(**reader);
  REQUIRE(of_file);
  REQUIRE(of_file->digest == structural_digest(*graph));
  for (const auto& nodes : graph->ranks) REQUIRE(lay_out(nodes).row.size() == nodes.size());
  check_believed(*graph, again);
}

}  // namespace

TEST_CASE("a damaged file is refused or read as far as it is whole") {
  fuzz::mutator mutator;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  temporary_folder folder;
  const auto path = folder.file("x"), again = folder.file("again");
  const std::vector<octets> files = {file_of(path, 1), file_of(path, 2)};
  fuzz::largest_allocation = 0;
  tally seen;
  for (fuzz::time_limit limit; !limit.over();)
    read(mutator.damaged(files[mutator.below(2)], files), path, again, seen);
  CHECK(seen.refused > 0);
  CHECK(fuzz::largest_allocation < memory_max);
}

TEST_CASE("damage under right checksums never makes a graph that breaks the rules") {
  fuzz::mutator mutator;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  temporary_folder folder;
  const auto path = folder.file("x"), again = folder.file("again");
  const auto bodies = bodies_of(file_of(path, 1));
  fuzz::largest_allocation = 0;
  tally seen;
  for (fuzz::time_limit limit; !limit.over();) {
    auto changed = bodies;
    const bool has_footer = mutator.below(2) == 0;
    if (!has_footer) changed.pop_back();  // the index would not fit any more
    auto& body = changed[mutator.below(changed.size())];
    body = mutator.below(3) == 0 ? mutator.damaged(body, bodies)
                                 : with_changed_chunk(body, mutator, bodies);
    read(file_from(changed, has_footer), path, again, seen);
  }
  CHECK(seen.refused > seen.rounds / 100);
  CHECK(seen.believed > seen.rounds / 100);
  CHECK(fuzz::largest_allocation < memory_max);
}
