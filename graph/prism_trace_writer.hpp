// prism_trace_writer: a PrismTrace file, written as the run goes (docs/trace_format.md).
//
// Append only: what append() and flush() have written is readable if the process dies, up to the
// last whole chunk. Nodes wait in memory for their chunk to fill, 256 MiB of all ranks together;
// beyond, the fullest are written as they are. After a failure every call fails with it: the file
// then has what was written before. Not thread-safe: one writer, one thread at a time (the
// recorder's worker).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/execution_graph.hpp"
#include "messages/error.hpp"

namespace troupe {

class prism_trace_writer {
 public:
  static constexpr std::uint32_t nodes_per_chunk = 65536;

  struct options {
    std::uint32_t world{};
    graph_stage stage = graph_stage::bare;
    std::vector<std::pair<std::string, std::string>> metadata;
    int zstd_level = 1;
  };

  /// Creates (truncates) the file and writes its header. errc::no_resources (disk) or bad_input
  /// (path).
  static result<std::unique_ptr<prism_trace_writer>> create(const std::string& path, options how);
  virtual ~prism_trace_writer() = default;

  /// The world has grown to so many ranks (or had them): ranks up to there may be named from now
  /// on. errc::bad_input: more than a world can have.
  virtual result<void> grow(std::uint32_t world) = 0;
  /// Nodes of one rank, the continuation of what was appended for it before. Whole chunks are
  /// written at once. errc::bad_input: a node that no graph has (node_check.hpp);
  /// errc::no_resources: the disk.
  virtual result<void> append(rank_id rank, std::span<const node> nodes) = 0;
  virtual result<void> append(std::span<const slot_interval> intervals) = 0;
  /// Table entries, in the order of their index (communicators from 0, call sites from 1), each
  /// before the first node that names it: so a file that is cut has what its nodes need.
  virtual result<void> append(const communicator_entry& communicator) = 0;
  virtual result<void> append_call_site(const std::string& call_site) = 0;
  /// Writes what is buffered as (short) chunks.
  virtual result<void> flush() = 0;
  /// flush(), then the index and the footer. Without it the file is a cut one, and readable.
  virtual result<void> close() = 0;
  virtual std::uint64_t written_bytes() const = 0;
};

}  // namespace troupe
