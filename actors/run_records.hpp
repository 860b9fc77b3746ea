// run_records: the files of a run: its trace and its journal.
//
// Used by one worker at a time (recorder.cpp), in order. What write() has taken is on disk at the
// latest flush_period after.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/requests.hpp"
#include "actors/run_tables.hpp"
#include "graph/prism_trace_writer.hpp"
#include "messages/journal.hpp"

namespace troupe {

class run_records {
 public:
  static constexpr nanos flush_period{500'000'000};

  struct options {
    std::string trace;    ///< path
    std::string journal;  ///< path
    journal::run_planned plan;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::function<nanos()> now;  ///< since the run's start
  };
  using record =
      std::variant<record_nodes, record_slots, record_finding, record_warning, record_process>;

  /// Creates both files and journals the plan. `tables` outlives the records.
  static result<std::unique_ptr<run_records>> open(options how, run_tables& tables);

  result<void> write(const std::vector<record>& batch);
  /// Ends both files.
  result<void> close(errc outcome, std::uint64_t wall_ns);
  std::uint64_t trace_bytes() const { return trace_->written_bytes(); }

 private:
  run_records(std::unique_ptr<prism_trace_writer> trace, journal_writer journal, options how,
              run_tables& tables);
  result<void> write_tables();
  result<void> put(const record_nodes& nodes);
  result<void> put(const record_slots& slots);
  result<void> put(const record_finding& found);
  result<void> put(const record_warning& warned);
  result<void> put(const record_process& process);
  result<void> note(journal::event what);

  std::unique_ptr<prism_trace_writer> trace_;
  journal_writer journal_;
  options how_;
  run_tables& tables_;
  nanos flushed_{};
};

}  // namespace troupe
