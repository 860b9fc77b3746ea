// output_relay: passes the ranks' output on, whole lines at a time, each with its rank before it
// when there are several.
//
// One thread. A line longer than line_bytes_max is passed on in pieces. What a rank wrote last
// without a line end is passed on when its pipe closes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace troupe {

class output_relay {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;

  struct source {
    std::uint32_t rank{};
    int descriptor = -1;  ///< read end of a pipe; the relay closes it
    int target = -1;      ///< descriptor to write to
  };
  /// Starts the thread. `prefix`: "[3] " before each line of rank 3. `before_write` is called
  /// before something is written (to clear a progress line).
  output_relay(std::vector<source> sources, bool prefix, std::function<void()> before_write);
  /// Waits until every pipe is closed and all is passed on.
  ~output_relay();

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
