// timeline_file: a graph written rank by rank in the form that a file's ending says: a timeline
// that other tools show, or a PrismTrace.
//
// The file is there when it is whole, or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "graph/execution_graph.hpp"
#include "messages/error.hpp"

namespace troupe {

enum class timeline_format { kineto, perfetto, prism };
/// "kineto".
const char* to_string(timeline_format format);
/// .json, .perfetto or .pftrace, .prism.
std::optional<timeline_format> timeline_format_of(const std::string& path);

class timeline_file {
 public:
  /// `tables`: everything of the graph but its nodes; they outlive the file. `only`: the one rank
  /// that there will be (of a .json).
  static result<std::unique_ptr<timeline_file>> create(const std::string& path,
                                                       timeline_format format,
                                                       const execution_graph& tables,
                                                       std::optional<rank_id> only = {});
  virtual ~timeline_file() = default;
  /// Ascending; each once.
  virtual result<void> add(rank_id rank, std::span<const node> nodes,
                           std::span<const slot_interval> of_rank) = 0;
  /// Returns the file's bytes.
  virtual result<std::uint64_t> close() = 0;
};

}  // namespace troupe
