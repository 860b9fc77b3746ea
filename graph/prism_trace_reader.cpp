#include "graph/prism_trace_reader.hpp"

#include <algorithm>
#include <array>

#include "graph/node_check.hpp"
#include "graph/prism_trace_format.hpp"

namespace troupe {

namespace format = prism_trace_format;

error prism_trace_reader::wrong_at(std::uint64_t offset, const std::string& what) const {
  return {errc::bad_input, path() + ", byte " + std::to_string(offset) + ": " + what};
}

// The frame at `offset` and its body, which must end at or before `end`.
result<std::span<const std::uint8_t>> prism_trace_reader::read_body(std::uint64_t offset,
                                                                    std::uint64_t end) {
  std::array<std::uint8_t, format::frame_bytes> head;
  if (end < offset || end - offset < head.size())
    return wrong_at(offset, "the file ends here, expected a record");
  if (auto read = file_.read(offset, head); !read) return read.error();
  const auto frame = format::parse_frame(head);
  if (!frame || frame->is_footer) return wrong_at(offset, "damaged, expected a record's frame");
  if (frame->body_bytes > end - offset - head.size())
    return wrong_at(offset, "a record of " + std::to_string(frame->body_bytes)
                                + " bytes, expected at most "
                                + std::to_string(end - offset - head.size()));
  record_.resize(frame->body_bytes / sizeof(record_[0]));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(record_.data()), frame->body_bytes);
  if (auto read = file_.read(offset + head.size(), bytes); !read) return read.error();
  if (!format::body_matches(*frame, bytes))
    return wrong_at(offset, "damaged, a record whose checksum does not match");
  return std::span<const std::uint8_t>(bytes);
}

result<trace_chunk> prism_trace_reader::read_chunk(std::uint64_t offset, std::uint64_t end) {
  TROUPE_TRY(body, read_body(offset, end));
  auto record = decode_trace_record(body);
  if (!record) return wrong_at(offset, record.error().context);
  auto* chunk = std::get_if<trace_chunk>(&*record);
  if (chunk == nullptr) return wrong_at(offset, "a second header, expected a chunk");
  return std::move(*chunk);
}

result<trace_chunk> prism_trace_reader::read_chunk(const trace_index_entry& entry) {
  TROUPE_TRY(chunk, read_chunk(entry.offset, entry.offset + entry.length));
  if (chunk.kind != entry.kind || chunk.rank != entry.rank || chunk.first != entry.first
      || chunk.count != entry.count
      || format::frame_bytes + record_.size() * sizeof(record_[0]) != entry.length)
    return wrong_at(entry.offset, "another chunk than the index names");
  return std::move(chunk);
}

// The offset of the first chunk.
result<std::uint64_t> prism_trace_reader::read_header() {
  std::array<std::uint8_t, format::file_magic.size()> magic{};
  const auto length = std::min<std::uint64_t>(magic.size(), file_.size());
  if (auto read = file_.read(0, std::span(magic).first(length)); !read) return read.error();
  if (length == 0) return wrong_at(0, "the file is empty, expected a PrismTrace file");
  if (!std::equal(magic.begin(), magic.begin() + length, format::file_magic.begin()))
    return wrong_at(0, "not a PrismTrace file");
  if (length < magic.size()) return wrong_at(0, "the file was cut within its header");
  TROUPE_TRY(body, read_body(length, file_.size()));
  auto record = decode_trace_record(body);
  if (!record) return wrong_at(length, record.error().context);
  auto* header = std::get_if<trace_header>(&*record);
  if (header == nullptr) return wrong_at(length, "a chunk, expected the header");
  if (header->world == 0 || header->world > format::world_max)
    return wrong_at(length, "a world of " + std::to_string(header->world) + " ranks, expected 1 to "
                                + std::to_string(format::world_max));
  if (header->stage > static_cast<std::uint8_t>(graph_stage::calibrated))
    return wrong_at(length, "a stage " + std::to_string(header->stage) + ", expected 0 to 2");
  world_ = processes_ = header->world;
  stage_ = static_cast<graph_stage>(header->stage);
  metadata_ = std::move(header->metadata);
  nodes_of_.resize(world_);
  return length + format::frame_bytes + record_.size() * sizeof(record_[0]);
}

// False: there is no footer, so the file was cut.
result<bool> prism_trace_reader::read_index(std::uint64_t first_chunk) {
  std::array<std::uint8_t, format::footer_bytes> last;
  if (file_.size() < first_chunk + last.size()) return false;
  const auto index_end = file_.size() - last.size();
  if (auto read = file_.read(index_end, last); !read) return read.error();
  const auto footer = format::parse_footer(last);
  if (!footer) return false;
  if (footer->index_offset < first_chunk || footer->index_offset > index_end)
    return wrong_at(index_end, "a footer that points outside the file");
  auto expected = first_chunk;
  for (auto at = footer->index_offset; at < index_end;) {
    TROUPE_TRY(chunk, read_chunk(at, index_end));
    auto entries = decode_index(chunk, unpacker_);
    if (!entries) return wrong_at(at, entries.error().context);
    for (const auto& entry : *entries) {
      if (entry.offset != expected || entry.length < format::frame_bytes
          || entry.length > footer->index_offset - entry.offset)
        return wrong_at(
            at, "an index with a gap, expected a chunk at byte " + std::to_string(expected));
      expected += entry.length;
      chunks_.push_back(entry);
    }
    at += format::frame_bytes + record_.size() * sizeof(record_[0]);
  }
  if (expected != footer->index_offset || chunks_.size() != footer->chunks)
    return wrong_at(footer->index_offset, "an index of " + std::to_string(chunks_.size())
                                              + " chunks, expected "
                                              + std::to_string(footer->chunks));
  return true;
}

bool prism_trace_reader::is_zero_from(std::uint64_t offset) const {
  std::array<std::uint8_t, 4096> bytes;
  while (offset < file_.size()) {
    const auto part =
        std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), file_.size() - offset));
    if (!file_.read(offset, part)) return false;
    if (std::any_of(part.begin(), part.end(), [](auto byte) { return byte != 0; })) return false;
    offset += part.size();
  }
  return true;
}

// Without an index: frame by frame. What is cut off is the last record, or zeros where a crashed
// machine lost pages.
result<void> prism_trace_reader::find_chunks(std::uint64_t first_chunk) {
  is_cut_ = true;
  for (auto at = first_chunk; at < file_.size();) {
    std::array<std::uint8_t, format::frame_bytes> head;
    const auto left = file_.size() - at;
    dropped_bytes_ = left;
    if (left < head.size()) return {};
    if (auto read = file_.read(at, head); !read) return read;
    const auto frame = format::parse_frame(head);
    if (!frame) {
      if (is_zero_from(at + head.size())) return {};
      return wrong_at(at, "damaged, expected a record's frame");
    }
    const auto length = head.size() + frame->body_bytes;
    if (length > left) return {};
    if (frame->is_footer) {
      if (is_zero_from(at + head.size()) || (length < left && is_zero_from(at + length))) return {};
      return wrong_at(at, "a footer, expected the file to end behind it");
    }
    auto chunk = read_chunk(at, file_.size());
    if (!chunk) {
      if (length == left || is_zero_from(at + length)) return {};
      return chunk.error();
    }
    if (chunk->kind != trace_chunk_kind::index)
      chunks_.push_back({chunk->kind, chunk->rank, chunk->first, chunk->count, at,
                         static_cast<std::uint32_t>(length)});
    at += length;
  }
  dropped_bytes_ = 0;
  return {};
}

result<void> prism_trace_reader::read_tables() {
  std::uint64_t members = 0, call_site_bytes = 0;
  for (const auto& entry : chunks_) {
    if (entry.kind == trace_chunk_kind::index)
      return wrong_at(entry.offset, "an index within the index");
    if (entry.kind == trace_chunk_kind::ranks) {
      if (entry.first != world_ || entry.count == 0 || entry.count > format::world_max - world_)
        return wrong_at(entry.offset, "ranks " + std::to_string(entry.first) + " and "
                                          + std::to_string(entry.count)
                                          + " in all that join a world of "
                                          + std::to_string(world_));
      world_ += entry.count;
      nodes_of_.resize(world_);
    }
    if (entry.kind == trace_chunk_kind::nodes) {
      if (entry.rank >= world_)
        return wrong_at(entry.offset, "nodes of rank " + std::to_string(entry.rank)
                                          + " in a world of " + std::to_string(world_));
      auto& nodes = nodes_of_[entry.rank];
      if (entry.first != nodes || entry.count > 0xffffffff - nodes)
        return wrong_at(entry.offset, "rank " + std::to_string(entry.rank) + "'s node "
                                          + std::to_string(entry.first) + ", expected its node "
                                          + std::to_string(nodes));
      nodes += entry.count;
    }
    if (entry.kind == trace_chunk_kind::communicators) {
      TROUPE_TRY(chunk, read_chunk(entry));
      auto table = decode_communicators(chunk, world_, unpacker_);
      if (!table) return wrong_at(entry.offset, table.error().context);
      if (entry.first != communicators_.size())
        return wrong_at(entry.offset, "communicator " + std::to_string(entry.first) + ", expected "
                                          + std::to_string(communicators_.size()));
      for (auto& communicator : *table) {
        members += communicator.members.size();
        communicators_.push_back(std::move(communicator));
      }
      if (members > members_max)
        return wrong_at(entry.offset, "communicators of more than " + std::to_string(members_max)
                                          + " members together");
    }
    if (entry.kind == trace_chunk_kind::call_sites) {
      TROUPE_TRY(chunk, read_chunk(entry));
      auto table = decode_call_sites(chunk, unpacker_);
      if (!table) return wrong_at(entry.offset, table.error().context);
      if (entry.first != call_sites_.size())
        return wrong_at(entry.offset, "call site " + std::to_string(entry.first) + ", expected "
                                          + std::to_string(call_sites_.size()));
      for (auto& site : *table) {
        call_site_bytes += site.size() + sizeof(site);
        call_sites_.push_back(std::move(site));
      }
      if (call_site_bytes > call_site_bytes_max)
        return wrong_at(entry.offset, "call sites of more than "
                                          + std::to_string(call_site_bytes_max) + " bytes");
    }
  }
  return {};
}

result<std::unique_ptr<prism_trace_reader>> prism_trace_reader::open(const std::string& path) {
  TROUPE_TRY(file, input_file::open(path));
  std::unique_ptr<prism_trace_reader> reader(new prism_trace_reader(std::move(file)));
  TROUPE_TRY(first_chunk, reader->read_header());
  TROUPE_TRY(is_whole, reader->read_index(first_chunk));
  if (!is_whole)
    if (auto found = reader->find_chunks(first_chunk); !found) return found.error();
  if (auto read = reader->read_tables(); !read) return read.error();
  return reader;
}

std::uint64_t prism_trace_reader::nodes() const {
  std::uint64_t sum = 0;
  for (auto nodes : nodes_of_) sum += nodes;
  return sum;
}

std::string prism_trace_reader::cut_text() const {
  if (!is_cut_) return {};
  return path() + " was cut short: it has no index; " + std::to_string(nodes())
         + " nodes in whole chunks are read, " + std::to_string(dropped_bytes_)
         + " bytes of a torn chunk are dropped";
}

result<void> prism_trace_reader::visit_chunk(const trace_index_entry& entry, const visitor& visit) {
  TROUPE_TRY(chunk, read_chunk(entry));
  auto columns = decoder_.decode(chunk);
  if (!columns) return wrong_at(entry.offset, columns.error().context);
  node_check check(columns->rank, communicators_, static_cast<std::uint32_t>(call_sites_.size()));
  for (const auto& shape : columns->shapes)
    if (auto wrong = check.wrong_shape(shape); !wrong.empty())
      return wrong_at(entry.offset, "rank " + std::to_string(entry.rank) + " has " + wrong);
  return visit(*columns);
}

result<void> prism_trace_reader::scan(const visitor& visit) {
  for (const auto& entry : chunks_)
    if (entry.kind == trace_chunk_kind::nodes)
      if (auto visited = visit_chunk(entry, visit); !visited) return visited;
  return {};
}

result<void> prism_trace_reader::scan(rank_id rank, const visitor& visit) {
  for (const auto& entry : chunks_)
    if (entry.kind == trace_chunk_kind::nodes && entry.rank == rank.value)
      if (auto visited = visit_chunk(entry, visit); !visited) return visited;
  return {};
}

namespace {

// Bytes that `columns` need as nodes.
std::uint64_t loaded_bytes(const node_columns& columns) {
  std::uint64_t bytes = std::uint64_t{columns.count} * sizeof(node);
  for (auto shape : columns.shape)
    if (const auto edges = columns.shapes[shape].after.size(); edges > 0)
      bytes += 16 + edges * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace

result<std::vector<node>> prism_trace_reader::load(rank_id rank, std::uint64_t bytes_max) {
  std::vector<node> nodes;
  std::uint64_t bytes = 0;
  auto scanned = scan(rank, [&](const node_columns& columns) -> result<void> {
    bytes += loaded_bytes(columns);
    if (bytes > bytes_max)
      return error{errc::no_resources, path() + ": rank " + std::to_string(rank.value)
                                           + " needs more than " + std::to_string(bytes_max >> 20)
                                           + " MiB as a graph"};
    for (std::uint32_t i = 0; i < columns.count; ++i) nodes.push_back(columns.at(i));
    return {};
  });
  if (!scanned) return scanned.error();
  return nodes;
}

result<std::vector<slot_interval>> prism_trace_reader::load_slots() {
  std::vector<slot_interval> slots;
  for (const auto& entry : chunks_) {
    if (entry.kind != trace_chunk_kind::slots) continue;
    TROUPE_TRY(chunk, read_chunk(entry));
    auto part = decode_slots(chunk, world_, unpacker_);
    if (!part) return wrong_at(entry.offset, part.error().context);
    if ((slots.size() + part->size()) * sizeof(slot_interval) > load_bytes_max)
      return error{errc::no_resources, path() + ": too many slot intervals"};
    slots.insert(slots.end(), part->begin(), part->end());
  }
  return slots;
}

result<execution_graph> prism_trace_reader::load(std::uint64_t bytes_max) {
  execution_graph graph;
  graph.world = world_;
  graph.stage = stage_;
  graph.communicators = communicators_;
  graph.call_sites = call_sites_;
  graph.metadata = metadata_;
  graph.ranks.resize(world_);
  std::uint64_t bytes = 0;
  auto scanned = scan([&](const node_columns& columns) -> result<void> {
    bytes += loaded_bytes(columns);
    if (bytes > bytes_max)
      return error{errc::no_resources, path() + " needs more than "
                                           + std::to_string(bytes_max >> 20) + " MiB as a graph"};
    auto& nodes = graph.ranks[columns.rank.value];
    for (std::uint32_t i = 0; i < columns.count; ++i) nodes.push_back(columns.at(i));
    return {};
  });
  if (!scanned) return scanned.error();
  TROUPE_TRY(slots, load_slots());
  graph.slots = std::move(slots);
  return graph;
}

}  // namespace troupe
