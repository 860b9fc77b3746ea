// output_relay: passes the ranks' output on: of several ranks whole lines, each with its rank
// before it; of one rank the very bytes, as they come.
//
// One thread. Of several ranks, a line longer than line_bytes_max is passed on in pieces, and what
// a rank wrote last without a line end gets one. A target that cannot be written any more (its
// reader is gone, its disk is full) is said once; then its ranks' pipes are closed, so that they
// get the error that they would get without us. The process must ignore SIGPIPE.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class output_relay {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;

  struct source {
    std::string prefix;   ///< before each line
    int descriptor = -1;  ///< read end of a pipe; the relay closes it
    int target = -1;      ///< descriptor to write to
  };
  /// Starts the thread. `lines`: whole lines, each with its prefix. `before_write` is called
  /// before something is written (to clear a progress line).
  output_relay(std::vector<source> sources, bool lines, std::function<void()> before_write);
  /// Waits until every pipe is closed and all is passed on. False: some of it could not be written,
  /// for another reason than that its reader went.
  bool finish();
  ~output_relay();  ///< finishes

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
