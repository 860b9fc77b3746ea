// sample_records: one journal record of every kind, with every field set to something of its own.
#pragma once

#include <vector>

#include "messages/journal.hpp"

namespace troupe::samples {

inline std::vector<journal::record> journal_records() {
  return {
      {0, journal::run_planned{.program = "train.py",
                               .arguments = {"--layers", "", "größe"},
                               .world = 64,
                               .slots = 2,
                               .trace = "a.prism",
                               .pid = 4711,
                               .version = "0.1.0"}},
      {5, journal::process_started{.rank = {63}, .pid = 4712}},
      {1ull << 62, journal::finding{.kind = errc::deadlock,
                                    .ranks = {{1}, {70000}},
                                    .communicator = {~0ull},
                                    .sequence = {9},
                                    .text = "rank 1 waits for rank 70000"}},
      {7, journal::process_ended{.rank = {63}, .pid = 4712, .wait_status = 9}},
      {1, journal::warning{{.kind = errc::mismatch,
                            .ranks = {{2}, {3}},
                            .communicator = {12},
                            .sequence = {1},
                            .text = "suspected mismatch: rank 2 called all_reduce at a.py:1"}}},
      {8, journal::run_ended{.outcome = errc::none, .wall_ns = 123}},
  };
}

}  // namespace troupe::samples
