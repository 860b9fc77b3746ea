#include "graph/perfetto_exporter.hpp"

#include <map>
#include <optional>
#include <set>

#include "tests/unit/graph/exported_sample.hpp"

using namespace troupe;

namespace {

/// A protocol buffers message as its fields, in order.
struct field {
  std::uint32_t number{};
  std::uint64_t value{};
  std::string bytes;
};

std::optional<std::uint64_t> varint(const std::string& from, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < from.size(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(from[at++]);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::vector<field> parse(const std::string& from) {
  std::vector<field> fields;
  for (std::size_t at = 0; at < from.size();) {
    const auto key = varint(from, at);
    REQUIRE(key);
    field parsed{static_cast<std::uint32_t>(*key >> 3), 0, {}};
    if ((*key & 7) == 0) {
      const auto value = varint(from, at);
      REQUIRE(value);
      parsed.value = *value;
    } else if ((*key & 7) == 1) {
      REQUIRE(at + 8 <= from.size());
      for (int i = 0; i < 8; ++i)
        parsed.value |= std::uint64_t{static_cast<std::uint8_t>(from[at + i])} << (8 * i);
      at += 8;
    } else {
      REQUIRE((*key & 7) == 2);
      const auto length = varint(from, at);
      REQUIRE(length);
      REQUIRE(at + *length <= from.size());
      parsed.bytes = from.substr(at, *length);
      at += *length;
    }
    fields.push_back(std::move(parsed));
  }
  return fields;
}

const field* find(const std::vector<field>& fields, std::uint32_t number) {
  for (const auto& each : fields)
    if (each.number == number) return &each;
  return nullptr;
}

struct slice {
  std::string name;
  std::uint64_t start{}, end{};
};

struct timeline {
  int packets = 0;
  std::map<std::uint64_t, std::string> tracks;
  std::map<std::uint64_t, std::uint64_t> parents;
  std::map<std::uint64_t, std::vector<slice>> slices;  // [track]
  std::map<std::uint64_t, std::vector<slice>> instants;
  std::map<std::uint64_t, std::uint64_t> latest;
  std::map<std::uint64_t, int> arrow_starts, arrow_ends;
};

timeline read(const std::string& bytes) {
  timeline made;
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::optional<slice>> open;
  for (const auto& outer : parse(bytes)) {
    REQUIRE(outer.number == 1);
    const auto packet = parse(outer.bytes);
    REQUIRE(find(packet, 10)->value == 1);
    const bool is_first = made.packets++ == 0;
    REQUIRE(find(packet, 13)->value == (is_first ? 3 : 2));  // only there is the state cleared
    if (const auto* interned = find(packet, 12))
      for (const auto& entry : parse(interned->bytes))
        if (entry.number == 2) {
          const auto name = parse(entry.bytes);
          REQUIRE(names.emplace(find(name, 1)->value, find(name, 2)->bytes).second);
        }
    if (const auto* described = find(packet, 60)) {
      const auto descriptor = parse(described->bytes);
      const auto uuid = find(descriptor, 1)->value;
      REQUIRE(made.tracks.emplace(uuid, find(descriptor, 2)->bytes).second);
      if (const auto* parent = find(descriptor, 5)) made.parents[uuid] = parent->value;
    }
    if (const auto* inner = find(packet, 11)) {
      const auto event = parse(inner->bytes);
      const auto track = find(event, 11)->value;
      REQUIRE(made.tracks.count(track));
      auto& running = open[track];
      const auto at = find(packet, 8)->value;
      REQUIRE(at >= made.latest[track]);
      made.latest[track] = at;
      if (find(event, 9)->value == 3) {
        REQUIRE_FALSE(running);
        made.instants[track].push_back({names.at(find(event, 10)->value), at, at});
      } else if (find(event, 9)->value == 1) {
        REQUIRE_FALSE(running);
        running = slice{names.at(find(event, 10)->value), at, 0};
      } else {
        REQUIRE(running);
        running->end = at;
        made.slices[track].push_back(*running);
        running.reset();
      }
      if (const auto* arrow = find(event, 47)) ++made.arrow_starts[arrow->value];
      if (const auto* arrow = find(event, 48)) ++made.arrow_ends[arrow->value];
    }
  }
  for (const auto& [track, running] : open) CHECK_FALSE(running);
  return made;
}

timeline export_all(const execution_graph& graph) {
  return read(exported<perfetto_exporter>(graph, 0, graph.world - 1));
}

}  // namespace

TEST_CASE(
    "a Perfetto timeline has every node as a slice at its time, none overlapping on a track") {
  const auto graph = overlapping_graph();
  const auto seen = export_all(graph);
  std::map<std::string, std::vector<slice>> by_process;
  for (auto [track, slices] : seen.slices) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      CHECK(slices[i].start <= slices[i].end);
      if (i > 0) CHECK(slices[i - 1].end <= slices[i].start);
    }
    const auto process = seen.tracks.at(seen.parents.at(track));
    if (seen.tracks.at(track) != "slot")
      by_process[process].insert(by_process[process].end(), slices.begin(), slices.end());
  }
  for (const auto& [track, markers] : seen.instants) {
    CHECK(seen.tracks.at(track) == "program");
    auto& all = by_process[seen.tracks.at(seen.parents.at(track))];
    all.insert(all.end(), markers.begin(), markers.end());
  }
  for (std::uint32_t rank = 0; rank < graph.world; ++rank) {
    const auto expected = lay_out(graph.ranks[rank]);
    auto& slices = by_process["rank " + std::to_string(rank)];
    REQUIRE(slices.size() == graph.ranks[rank].size());
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> a, b;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      a.emplace(slices[i].start, slices[i].end);
      b.emplace(expected.start_ns[i], expected.end_ns[i]);
    }
    CHECK(a == b);
  }
}

TEST_CASE("a slot's track shows which rank holds it") {
  const auto seen = export_all(overlapping_graph());
  for (const auto& [track, name] : seen.tracks) {
    if (name != "slot 0") continue;
    CHECK(seen.tracks.at(seen.parents.at(track)) == "slots");
    const auto& slices = seen.slices.at(track);
    REQUIRE(slices.size() == 3);
    CHECK(slices[0].name == "rank 0");
    CHECK(slices[1].name == "rank 2");
    CHECK(slices[2].name == "rank 0");
    CHECK(slices[2].start == 50'000);
    return;
  }
  FAIL("no track for slot 0");
}

TEST_CASE("a slot that a file gives to two ranks at once gets a second lane") {
  auto graph = sample::small_graph();
  graph.slots = {{{0}, {3}, 100, 200, 0}, {{1}, {3}, 150, 300, 0}, {{2}, {3}, 200, 250, 0}};
  const auto seen = export_all(graph);
  std::map<std::string, std::vector<std::string>> held;
  for (const auto& [track, slices] : seen.slices)
    if (seen.tracks.at(seen.parents.at(track)) == "slots")
      for (const auto& each : slices) held[seen.tracks.at(track)].push_back(each.name);
  using names = std::vector<std::string>;
  CHECK(held["slot 3"] == names{"rank 0", "rank 2"});
  CHECK(held["slot 3, lane 1"] == names{"rank 1"});
}

TEST_CASE("every arrow has one beginning and one end") {
  const auto seen = export_all(overlapping_graph());
  CHECK(seen.arrow_starts.size() == 4 * 9 + 2 + 1);
  for (auto [arrow, count] : seen.arrow_starts) {
    CHECK(count == 1);
    CHECK(seen.arrow_ends.at(arrow) == 1);
  }
  CHECK(seen.arrow_ends.size() == seen.arrow_starts.size());
}
