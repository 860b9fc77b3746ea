#include "messages/trace_codec.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "messages/assert.hpp"
#include "messages/trace.capnp.h"

namespace troupe {
namespace {

void build(schema::TraceHeader::Builder to, const trace_header& from) {
  to.setVersion(from.version);
  to.setWorld(from.world);
  to.setStage(from.stage);
  auto pairs = to.initMetadata(from.metadata.size());
  for (unsigned i = 0; i < from.metadata.size(); ++i) {
    // With their lengths: from a std::string alone a text ends at its first NUL.
    const auto& [key, value] = from.metadata[i];
    pairs[i].setKey(capnp::Text::Reader(key.c_str(), key.size()));
    pairs[i].setValue(capnp::Text::Reader(value.c_str(), value.size()));
  }
}

void build(schema::TraceChunk::Builder to, const trace_chunk& from) {
  to.setKind(static_cast<std::uint8_t>(from.kind));
  to.setRank(from.rank);
  to.setFirst(from.first);
  to.setCount(from.count);
  auto columns = to.initColumns(from.columns.size());
  for (unsigned i = 0; i < from.columns.size(); ++i) {
    const auto& column = from.columns[i];
    columns[i].setCodec(static_cast<std::uint8_t>(column.codec));
    columns[i].setRawSize(column.raw_size);
    columns[i].setData(capnp::Data::Reader(column.data.data(), column.data.size()));
  }
}

error disbelieved(std::string what) { return {errc::bad_input, std::move(what)}; }

std::string text(capnp::Text::Reader from) { return {from.begin(), from.size()}; }

result<trace_record> read(schema::TraceHeader::Reader from) {
  trace_header header{from.getVersion(), from.getWorld(), from.getStage(), {}};
  if (header.version != trace_version)
    return disbelieved("version " + std::to_string(header.version) + ", expected version "
                       + std::to_string(trace_version));
  auto pairs = from.getMetadata();
  if (pairs.size() > trace_metadata_max)
    return disbelieved(std::to_string(pairs.size()) + " metadata entries, expected at most "
                       + std::to_string(trace_metadata_max));
  for (auto pair : pairs) header.metadata.emplace_back(text(pair.getKey()), text(pair.getValue()));
  return trace_record{std::move(header)};
}

result<trace_record> read(schema::TraceChunk::Reader from) {
  trace_chunk chunk;
  if (from.getKind() >= trace_chunk_kind_count)
    return disbelieved("a chunk of kind " + std::to_string(from.getKind()) + ", expected less than "
                       + std::to_string(trace_chunk_kind_count));
  chunk.kind = static_cast<trace_chunk_kind>(from.getKind());
  chunk.rank = from.getRank();
  chunk.first = from.getFirst();
  chunk.count = from.getCount();
  auto columns = from.getColumns();
  if (columns.size() > trace_columns_max)
    return disbelieved(std::to_string(columns.size()) + " columns, expected at most "
                       + std::to_string(trace_columns_max));
  for (auto column : columns) {
    auto data = column.getData();
    if (column.getCodec() > static_cast<std::uint8_t>(column_codec::zstd))
      return disbelieved("a column's codec " + std::to_string(column.getCodec())
                         + ", expected 0 or 1");
    if (column.getRawSize() > trace_column_bytes_max)
      return disbelieved("a column of " + std::to_string(column.getRawSize())
                         + " bytes, expected at most " + std::to_string(trace_column_bytes_max));
    chunk.columns.push_back({static_cast<column_codec>(column.getCodec()),
                             column.getRawSize(),
                             {data.begin(), data.size()}});
  }
  return trace_record{std::move(chunk)};
}

}  // namespace

const char* to_string(trace_chunk_kind kind) {
  switch (kind) {
    case trace_chunk_kind::nodes:
      return "nodes";
    case trace_chunk_kind::slots:
      return "slot intervals";
    case trace_chunk_kind::communicators:
      return "communicators";
    case trace_chunk_kind::call_sites:
      return "call sites";
    case trace_chunk_kind::index:
      return "index";
    case trace_chunk_kind::ranks:
      return "ranks";
  }
  return "unknown";
}

std::vector<std::uint8_t> encode(const trace_record& record) {
  std::size_t payload = 0;
  if (auto* chunk = std::get_if<trace_chunk>(&record))
    for (const auto& column : chunk->columns) payload += column.data.size() + 32;
  capnp::MallocMessageBuilder message(static_cast<unsigned>(payload / sizeof(capnp::word) + 64));
  auto root = message.initRoot<schema::TraceRecord>();
  if (auto* header = std::get_if<trace_header>(&record)) build(root.initHeader(), *header);
  if (auto* chunk = std::get_if<trace_chunk>(&record)) build(root.initChunk(), *chunk);
  auto words = capnp::messageToFlatArray(message);
  auto flat = words.asBytes();
  return {flat.begin(), flat.end()};
}

result<trace_record> decode_trace_record(std::span<const std::uint8_t> bytes) {
  TROUPE_ASSERT(reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(capnp::word) == 0);
  if (bytes.size() % sizeof(capnp::word) != 0 || bytes.size() > trace_record_bytes_max)
    return disbelieved("a record of " + std::to_string(bytes.size())
                       + " bytes, expected whole words");
  try {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = 2 * trace_record_bytes_max / sizeof(capnp::word);
    limits.nestingLimit = 8;
    capnp::FlatArrayMessageReader message(
        kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.data()),
                     bytes.size() / sizeof(capnp::word)),
        limits);
    auto root = message.getRoot<schema::TraceRecord>();
    switch (root.which()) {
      case schema::TraceRecord::HEADER:
        return read(root.getHeader());
      case schema::TraceRecord::CHUNK:
        return read(root.getChunk());
    }
    return disbelieved("a record that is neither header nor chunk");
  } catch (const kj::Exception& why) {
    return disbelieved(std::string("not a Cap'n Proto record: ") + why.getDescription().cStr());
  }
}

}  // namespace troupe
