// run_tables: the communicators and call sites of a run, numbered as they appear, and its running
// counters.
//
// Shared by the cast and by the progress line's thread: every member may be used from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/execution_graph.hpp"
#include "messages/collective.hpp"

namespace troupe {

class run_tables {
 public:
  /// The entry's index; the same id again gives the same index.
  std::uint32_t communicator(const communicator_entry& entry);
  /// 0 for "".
  std::uint32_t call_site(const std::string& text);
  std::string call_site_text(std::uint32_t index) const;

  struct fresh_entries {
    std::vector<communicator_entry> communicators;
    std::vector<std::string> call_sites;
  };
  /// Entries that were not taken yet, in the order of their index.
  fresh_entries take_fresh();

  struct operation_count {
    std::uint64_t count{}, size_bytes{};
  };
  void count(operation op, std::uint64_t size_bytes);
  std::map<operation, operation_count> operations() const;

  // The progress line's view.
  std::atomic<std::uint32_t> ranks_running = 0, ranks_connected = 0, ranks_done = 0;
  std::atomic<std::uint64_t> collectives = 0;
  /// Calls that were resolved: whoever asks whether anything moves looks here.
  std::atomic<std::uint64_t> resolutions = 0;
  /// A collective of this communicator completed at this depth (dependency_depth.hpp).
  void note_depth(std::uint32_t depth, communicator_id communicator);
  /// No order of a run of `world` processes has fewer switches: each one's first grant, and
  /// whenever a collective completes, its members' all run again before their next depth, of which
  /// at most `slots` may still be where they ran. Of one depth those communicators count that share
  /// no member. (Messages are left out, so that more may be needed.)
  std::uint64_t switches_least(std::uint32_t world, std::uint32_t slots) const;

 private:
  mutable std::mutex guard_;
  std::vector<communicator_entry> communicators_;
  std::unordered_map<communicator_id, std::uint32_t> communicator_index_;
  std::vector<std::string> call_sites_{""};
  std::unordered_map<std::string, std::uint32_t> call_site_index_{{"", 0}};
  std::size_t communicators_taken_ = 0, call_sites_taken_ = 1;
  std::map<operation, operation_count> operations_;
  std::vector<std::vector<std::uint32_t>> at_depth_;  // communicators, each once
};

}  // namespace troupe
