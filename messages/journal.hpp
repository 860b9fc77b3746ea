// journal: what became of a run, so that whoever comes after a killed `troupe` can say it: one
// msgpack map a record.
//
// A record {at_ns, kind, …} is one write(2) at the end of the file. A process that dies while
// writing leaves at most one torn record, at the end; readers stop before it and say so, and a
// writer that goes on with the file cuts it off. Not here: what ranks did (the trace,
// graph/prism_trace_writer.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

namespace journal {
struct run_planned {
  std::string program;
  std::vector<std::string> arguments;
  std::uint32_t world{}, slots{};
  std::string trace;    ///< the trace's path; empty: none is written
  std::int32_t pid{};   ///< of `troupe`
  std::string version;  ///< of `troupe`
  friend bool operator==(const run_planned&, const run_planned&) = default;
};
struct process_started {
  rank_id rank;
  std::int32_t pid{};
  friend bool operator==(const process_started&, const process_started&) = default;
};
struct process_ended {
  rank_id rank;
  std::int32_t pid{}, wait_status{};  ///< as wait(2) gives it
  friend bool operator==(const process_ended&, const process_ended&) = default;
};
struct finding {
  errc kind{};
  std::vector<rank_id> ranks;
  communicator_id communicator;
  sequence_number sequence;
  std::string text;
  friend bool operator==(const finding&, const finding&) = default;
};
/// What may be wrong: it ended nothing.
struct warning {
  finding what;
  friend bool operator==(const warning&, const warning&) = default;
};
struct run_ended {
  errc outcome{};
  std::uint64_t wall_ns{};
  friend bool operator==(const run_ended&, const run_ended&) = default;
};
using event =
    std::variant<run_planned, process_started, process_ended, finding, run_ended, warning>;

struct record {
  std::uint64_t at_ns{};  ///< since the run's start
  event what;
  friend bool operator==(const record&, const record&) = default;
};

struct contents {
  std::vector<record> records;
  std::uint64_t
      torn_bytes{};  ///< of an unfinished record at the end; 0: the file ends with a whole one
};
}  // namespace journal

/// Limits: a reader refuses a longer file, text or list; a writer cuts longer texts and refuses
/// longer lists.
constexpr std::uint64_t journal_bytes_max = 1u << 30;
constexpr std::uint32_t journal_text_bytes_max = 1u << 20;
constexpr std::uint32_t journal_list_length_max = 1u << 20;

class journal_writer {
 public:
  /// The journal at `path`, created or gone on with (a torn record at its end is cut off).
  /// bad_input: the file is no journal, and stays as it is; no_resources: it cannot be opened or
  /// created.
  static result<journal_writer> open(const std::string& path);
  journal_writer(journal_writer&& from) noexcept;
  journal_writer& operator=(journal_writer&& from) noexcept;
  ~journal_writer();

  /// Writes the record. no_resources: the disk is full or failed; nothing of the record remains in
  /// the file, and later appends may succeed unless the error says that the journal ends here.
  result<void> append(const journal::record& record);

 private:
  journal_writer(int descriptor, std::uint64_t size, std::string path);

  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // up to the last whole record
  std::string path_;
  bool broken_ = false;  // a torn record could not be cut off
};

/// All whole records. bad_input: a record that is whole cannot be believed, or the file is no
/// journal; the text names it.
result<journal::contents> read_journal(const std::string& path);

}  // namespace troupe
