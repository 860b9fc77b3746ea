// node_columns: a run of one rank's nodes as columns, and the trace chunk they are written as
// (docs/trace_format.md).
//
// Nodes that differ only in times and sequence share a *shape*; a program repeats itself, so shapes
// are few. A chunk has its shapes, and a node is: which shape, how its sequence departs from
// counting on, two times above its shape's least. Not here: files (prism_trace_writer.hpp,
// prism_trace_reader.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "graph/column_coding.hpp"
#include "graph/execution_graph.hpp"
#include "messages/error.hpp"
#include "messages/ids.hpp"
#include "messages/trace_codec.hpp"

namespace troupe {

constexpr std::uint32_t chunk_nodes_max = 65536;
constexpr std::uint32_t chunk_edges_max = 1u << 21;  ///< over the shapes of a chunk

/// A view; node i of the rank's nodes [first, first + count) is shapes[shape[i]] with these times
/// and sequence.
struct node_columns {
  rank_id rank;
  std::uint32_t first{}, count{};
  std::span<const node> shapes;
  std::span<const std::uint32_t> shape;
  std::span<const std::uint64_t> sequence;  ///< 0 for a node without communicator
  std::span<const std::uint64_t> duration_ns, gap_ns;

  node at(std::uint32_t i) const;
};

/// Numbers the sequences that nodes continue: one a communicator's collectives, one a (direction,
/// communicator, peer, tag).
class node_series {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t of(const node& shape);
  std::size_t size() const { return numbers_.size(); }
  void clear() { numbers_.clear(); }

 private:
  std::map<std::tuple<node_kind, std::uint32_t, std::int32_t, std::int32_t>, std::uint32_t>
      numbers_;
};

/// Collects nodes of one rank and turns them into a chunk.
class node_columns_encoder {
 public:
  /// Is there no room for the node in this chunk (which then has others)?
  bool is_full_for(const node& what) const;
  void add(const node& what);
  /// Adds the node if one of its shape came before, in this chunk. False: none did.
  bool add_known(const node& what);
  std::uint32_t count() const { return static_cast<std::uint32_t>(shape_.size()); }
  std::size_t buffered_bytes() const;
  /// The chunk points into `packer`. Afterwards this encoder is empty.
  trace_chunk encode(rank_id rank, std::uint32_t first, column_packer& packer);

 private:
  std::uint32_t find(const node& what) const;
  std::uint32_t add_shape(const node& what);
  void add(const node& what, std::uint32_t number);
  void grow_table();

  std::vector<node> shapes_;
  std::vector<std::uint32_t> series_of_;  // [shape]
  std::vector<std::uint32_t> follower_;   // [shape]: which shape came after it last time
  std::vector<std::uint32_t> table_;      // open addressing over shapes_: number + 1, 0 is free
  std::vector<std::uint32_t> shape_;      // [node]
  std::vector<std::uint64_t> duration_ns_, gap_ns_;
  std::vector<std::uint64_t> last_sequence_;  // [series]
  varint_sink sequences_;
  node_series series_;
  std::uint32_t edges_ = 0;
};

/// Reads chunks one after the other; a view holds until the next chunk. What it cannot believe is
/// errc::bad_input.
class node_columns_decoder {
 public:
  /// Checks all but what needs tables (node_check).
  result<node_columns> decode(const trace_chunk& chunk);

 private:
  result<void> read_shapes(const trace_chunk& chunk);
  result<void> read_shape_numbers(const trace_chunk& chunk);
  result<void> read_sequences(const trace_chunk& chunk);
  result<void> read_times(const trace_chunk& chunk);
  struct time_range {  // of a shape's nodes: the least, and how many bytes the distance above it
                       // has
    std::uint64_t least{};
    std::uint8_t width{};
  };
  result<std::array<const std::uint8_t*, 8>> open_planes(const trace_chunk& chunk,
                                                         std::size_t first_column,
                                                         std::span<const time_range> ranges);
  result<void> read_planes(const trace_chunk& chunk, std::size_t first_column,
                           std::span<const time_range> ranges, std::vector<std::uint64_t>& times);

  column_unpacker unpacker_;
  std::vector<node> shapes_;
  std::vector<std::uint32_t> shape_, series_of_, nodes_of_;  // [node], [shape], [shape]
  std::vector<std::uint64_t> sequence_, duration_ns_, gap_ns_, last_sequence_;
  node_series series_;
};

}  // namespace troupe
