#include "graph/trace_tables.hpp"

#include <algorithm>

#include "graph/prism_trace_format.hpp"
#include "messages/release_reason.hpp"

namespace troupe {
namespace {

using prism_trace_format::table_chunk_entries_max;

trace_chunk one_column(trace_chunk_kind kind, std::uint32_t first, std::size_t count,
                       varint_sink& column, column_packer& packer) {
  trace_chunk chunk{kind, 0, first, static_cast<std::uint32_t>(count), {}};
  packer.clear();
  packer.add(chunk, column.take());
  return chunk;
}

error disbelieved(const trace_chunk& chunk, const char* what) {
  return {errc::bad_input, std::string("a chunk of ") + to_string(chunk.kind) + ": " + what};
}

result<varint_source> open_column(const trace_chunk& chunk, column_unpacker& unpacker) {
  if (chunk.columns.size() != 1) return disbelieved(chunk, "expected one column");
  if (chunk.count == 0 || chunk.count > table_chunk_entries_max)
    return disbelieved(chunk, "expected 1 to 65536 entries");
  TROUPE_TRY(raw, unpacker.unpack(chunk.columns[0], 0));
  return varint_source(raw);
}

}  // namespace

trace_chunk encode_slots(std::span<const slot_interval> slots, column_packer& packer) {
  varint_sink to;
  std::uint64_t before = 0;
  for (const auto& slot : slots) {
    to.put(slot.rank.value);
    to.put(slot.slot.value);
    to.put_signed(static_cast<std::int64_t>(slot.start_ns - before));
    to.put_signed(static_cast<std::int64_t>(slot.end_ns - slot.start_ns));
    to.put(slot.why);
    before = slot.start_ns;
  }
  return one_column(trace_chunk_kind::slots, 0, slots.size(), to, packer);
}

trace_chunk encode_communicators(std::span<const communicator_entry> entries, std::uint32_t first,
                                 column_packer& packer) {
  varint_sink to;
  for (const auto& entry : entries) {
    to.put(entry.id.value);
    to.put(static_cast<std::uint64_t>(entry.rules));
    to.put_text(entry.name);
    to.put(entry.members.size());
    std::int64_t before = -1;
    for (auto member : entry.members) {
      to.put_signed(static_cast<std::int64_t>(member.value) - before - 1);
      before = member.value;
    }
  }
  return one_column(trace_chunk_kind::communicators, first, entries.size(), to, packer);
}

trace_chunk encode_call_sites(std::span<const std::string> entries, std::uint32_t first,
                              column_packer& packer) {
  varint_sink to;
  for (const auto& entry : entries) to.put_text(entry);
  return one_column(trace_chunk_kind::call_sites, first, entries.size(), to, packer);
}

trace_chunk encode_index(std::span<const trace_index_entry> entries, column_packer& packer) {
  varint_sink to;
  for (const auto& entry : entries) {
    to.put(static_cast<std::uint64_t>(entry.kind));
    to.put(entry.rank);
    to.put(entry.first);
    to.put(entry.count);
    to.put(entry.offset);
    to.put(entry.length);
  }
  return one_column(trace_chunk_kind::index, 0, entries.size(), to, packer);
}

result<std::vector<slot_interval>> decode_slots(const trace_chunk& chunk, std::uint32_t world,
                                                column_unpacker& unpacker) {
  TROUPE_TRY(from, open_column(chunk, unpacker));
  std::vector<slot_interval> slots(chunk.count);
  std::uint64_t before = 0;
  for (auto& slot : slots) {
    slot.rank.value = static_cast<std::uint32_t>(from.get_up_to(world - 1));
    slot.slot.value = static_cast<std::uint32_t>(from.get_up_to(0xffffffff));
    slot.start_ns = before + static_cast<std::uint64_t>(from.get_signed());
    slot.end_ns = slot.start_ns + static_cast<std::uint64_t>(from.get_signed());
    slot.why = static_cast<std::uint8_t>(
        from.get_up_to(static_cast<std::uint64_t>(release_reason::overdue)));
    before = slot.start_ns;
    if (slot.end_ns < slot.start_ns) return disbelieved(chunk, "an interval ends before it starts");
  }
  if (!from.complete()) return disbelieved(chunk, "a value out of range, or the wrong length");
  return slots;
}

result<std::vector<communicator_entry>> decode_communicators(const trace_chunk& chunk,
                                                             std::uint32_t world,
                                                             column_unpacker& unpacker) {
  TROUPE_TRY(from, open_column(chunk, unpacker));
  std::vector<communicator_entry> entries(chunk.count);
  for (auto& entry : entries) {
    entry.id.value = from.get();
    entry.rules =
        static_cast<semantics>(from.get_up_to(static_cast<std::uint64_t>(semantics::mpi)));
    entry.name = from.get_text(trace_text_bytes_max);
    const auto members = from.get_up_to(std::min<std::uint64_t>(world, from.left()));
    if (members == 0) return disbelieved(chunk, "a communicator without members, or too many");
    std::int64_t before = -1;
    for (std::uint64_t i = 0; i < members; ++i) {
      before += 1 + from.get_signed() % (std::int64_t{1} << 32);
      if (before < 0 || before >= world) return disbelieved(chunk, "a member outside the world");
      entry.members.push_back({static_cast<std::uint32_t>(before)});
    }
    auto sorted = entry.members;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      return disbelieved(chunk, "a communicator with a member twice");
  }
  if (!from.complete()) return disbelieved(chunk, "a value out of range, or the wrong length");
  return entries;
}

result<std::vector<std::string>> decode_call_sites(const trace_chunk& chunk,
                                                   column_unpacker& unpacker) {
  TROUPE_TRY(from, open_column(chunk, unpacker));
  std::vector<std::string> entries(chunk.count);
  for (auto& entry : entries) entry = from.get_text(trace_text_bytes_max);
  if (!from.complete()) return disbelieved(chunk, "a text too long, or the wrong length");
  return entries;
}

result<std::vector<trace_index_entry>> decode_index(const trace_chunk& chunk,
                                                    column_unpacker& unpacker) {
  TROUPE_TRY(from, open_column(chunk, unpacker));
  std::vector<trace_index_entry> entries(chunk.count);
  for (auto& entry : entries) {
    entry.kind = static_cast<trace_chunk_kind>(from.get_up_to(trace_chunk_kind_count - 1));
    entry.rank = static_cast<std::uint32_t>(from.get_up_to(0xffffffff));
    entry.first = static_cast<std::uint32_t>(from.get_up_to(0xffffffff));
    entry.count = static_cast<std::uint32_t>(from.get_up_to(0xffffffff));
    entry.offset = from.get();
    entry.length = static_cast<std::uint32_t>(
        from.get_up_to(prism_trace_format::frame_bytes + trace_record_bytes_max));
  }
  if (!from.complete()) return disbelieved(chunk, "a value out of range, or the wrong length");
  return entries;
}

}  // namespace troupe
