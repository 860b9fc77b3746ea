// progress_line: one line on a terminal that says how a run goes, redrawn a few times a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "actors/run_tables.hpp"

namespace troupe {

class progress_line {
 public:
  /// Draws on standard error if it is a terminal, else does nothing.
  progress_line(const run_tables& tables, std::uint32_t world, bool wanted);
  ~progress_line();  ///< clears the line

  /// Clears it, because something else is to be written; it comes back with the next redraw.
  void clear();

 private:
  void run();
  void draw();

  const run_tables& tables_;
  std::uint32_t world_;
  std::mutex guard_;
  std::condition_variable wake_;
  bool stopping_ = false, drawn_ = false;
  std::thread thread_;
};

}  // namespace troupe
