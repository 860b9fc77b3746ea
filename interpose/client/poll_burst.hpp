// poll_burst: does a thread poll? It says again and again that others may run, and does little
// between, though it may sleep there.
#pragma once

#include <cstdint>

namespace troupe {

class poll_burst {
 public:
  static constexpr std::uint64_t long_ns = 100'000;  ///< before that it may be a short wait
  static constexpr std::uint64_t work_ns = 50'000;   ///< of the processor: no mere look

  /// The thread says so, at this time, and has used the processor for so long in all. True: it
  /// polls.
  bool yields(std::uint64_t now_ns, std::uint64_t cpu_ns) {
    if (cpu_ns - cpu_ns_ > work_ns) first_ns_ = now_ns;
    cpu_ns_ = cpu_ns;
    return now_ns - first_ns_ >= long_ns;
  }
  /// It goes on after others have run; what that took was no work of its own.
  void goes_on(std::uint64_t cpu_ns) { cpu_ns_ = cpu_ns; }

 private:
  std::uint64_t first_ns_ = 0, cpu_ns_ = 0;
};

}  // namespace troupe
