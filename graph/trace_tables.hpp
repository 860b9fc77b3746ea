// trace_tables: the chunks of a trace that are not nodes: slot intervals, communicators, call
// sites, the index.
//
// Each is one column of varints (docs/trace_format.md). Decoding checks counts, members and
// lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/column_coding.hpp"
#include "graph/execution_graph.hpp"
#include "messages/trace_codec.hpp"

namespace troupe {

constexpr std::size_t trace_text_bytes_max = 65536;  ///< of a communicator's name, of a call site

/// Where a chunk lies, and what it is.
struct trace_index_entry {
  trace_chunk_kind kind{};
  std::uint32_t rank{}, first{}, count{};
  std::uint64_t offset{};  ///< of its frame
  std::uint32_t length{};  ///< frame and body
  friend bool operator==(const trace_index_entry&, const trace_index_entry&) = default;
};

trace_chunk encode_slots(std::span<const slot_interval> slots, column_packer& packer);
trace_chunk encode_communicators(std::span<const communicator_entry> entries, std::uint32_t first,
                                 column_packer& packer);
trace_chunk encode_call_sites(std::span<const std::string> entries, std::uint32_t first,
                              column_packer& packer);
trace_chunk encode_index(std::span<const trace_index_entry> entries, column_packer& packer);

result<std::vector<slot_interval>> decode_slots(const trace_chunk& chunk, std::uint32_t world,
                                                column_unpacker& unpacker);
result<std::vector<communicator_entry>> decode_communicators(const trace_chunk& chunk,
                                                             std::uint32_t world,
                                                             column_unpacker& unpacker);
result<std::vector<std::string>> decode_call_sites(const trace_chunk& chunk,
                                                   column_unpacker& unpacker);
result<std::vector<trace_index_entry>> decode_index(const trace_chunk& chunk,
                                                    column_unpacker& unpacker);

}  // namespace troupe
