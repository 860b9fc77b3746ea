// prism_trace_reader: a PrismTrace file, whole or cut (docs/trace_format.md).
//
// A file without its end (the writer died, the disk was full) is read up to its last whole chunk,
// and says so. A file that is no PrismTrace, or was damaged, is errc::bad_input with file, place
// and what was expected; never other nodes than were written. What it believes is bounded
// (node_check.hpp, trace_codec.hpp, the limits here). Not thread-safe. Not here: what the nodes
// mean together (graph_summary.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/input_file.hpp"
#include "graph/node_columns.hpp"
#include "graph/trace_tables.hpp"
#include "messages/error.hpp"

namespace troupe {

class prism_trace_reader {
 public:
  /// A column visitor: the view holds until it returns; an error ends the scan.
  using visitor = std::function<result<void>(const node_columns&)>;

  static constexpr std::uint64_t members_max = 1u << 26;            ///< over all communicators
  static constexpr std::uint64_t call_site_bytes_max = 256u << 20;  ///< over all call sites
  static constexpr std::uint64_t load_bytes_max = std::uint64_t{16} << 30;

  /// Reads header, index (or, of a cut file, every chunk) and tables.
  static result<std::unique_ptr<prism_trace_reader>> open(const std::string& path);

  std::uint32_t world() const { return world_; }
  /// Processes that the ranks are: rank r is one of process r % processes().
  std::uint32_t processes() const { return processes_; }
  graph_stage stage() const { return stage_; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  const std::vector<communicator_entry>& communicators() const { return communicators_; }
  const std::vector<std::string>& call_sites() const { return call_sites_; }
  std::uint64_t nodes() const;
  std::uint32_t nodes(rank_id rank) const { return nodes_of_[rank.value]; }
  std::uint64_t file_bytes() const { return file_.size(); }
  const std::string& path() const { return file_.path(); }

  /// Did the writer not get to the end of the file?
  bool is_cut() const { return is_cut_; }
  /// Bytes of a torn last chunk.
  std::uint64_t dropped_bytes() const { return dropped_bytes_; }
  /// "x.prism was cut short: …", empty when it is whole.
  std::string cut_text() const;

  /// Every chunk of nodes in the order of the file (the chunks of one rank are in its program
  /// order).
  result<void> scan(const visitor& visit);
  /// The chunks of one rank.
  result<void> scan(rank_id rank, const visitor& visit);
  result<std::vector<node>> load(rank_id rank, std::uint64_t bytes_max = load_bytes_max);
  result<std::vector<slot_interval>> load_slots();
  /// errc::no_resources when it needs more memory than that.
  result<execution_graph> load(std::uint64_t bytes_max = load_bytes_max);

 private:
  explicit prism_trace_reader(input_file file) : file_(std::move(file)) {}

  error wrong_at(std::uint64_t offset, const std::string& what) const;
  result<std::span<const std::uint8_t>> read_body(std::uint64_t offset, std::uint64_t end);
  result<trace_chunk> read_chunk(std::uint64_t offset, std::uint64_t end);
  result<trace_chunk> read_chunk(const trace_index_entry& entry);
  result<std::uint64_t> read_header();
  result<bool> read_index(std::uint64_t first_chunk);
  result<void> find_chunks(std::uint64_t first_chunk);
  bool is_zero_from(std::uint64_t offset) const;
  result<void> read_tables();
  result<void> visit_chunk(const trace_index_entry& entry, const visitor& visit);

  input_file file_;
  std::uint32_t world_{}, processes_{};
  graph_stage stage_{};
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<communicator_entry> communicators_;
  std::vector<std::string> call_sites_{""};
  std::vector<trace_index_entry> chunks_;
  std::vector<std::uint32_t> nodes_of_;  // [rank]
  bool is_cut_ = false;
  std::uint64_t dropped_bytes_ = 0;
  std::vector<std::uint64_t> record_;  // of the latest read_body, aligned for Cap'n Proto
  column_unpacker unpacker_;
  node_columns_decoder decoder_;
};

}  // namespace troupe
