// thread_cores: which cores a thread could use before it blocked, so that it can again when it
// wakes.
//
// The runner binds a blocked thread to its slot's core, that it wakes there
// (actors/slot_cores.hpp). The thread takes the binding off before any code of the program runs in
// it: the program sees none, nor does what it starts. A binding of its own stays;
// one to a single core that another thread made while it was blocked is taken for the runner's.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace troupe {

class thread_cores {
 public:
  /// These threads are about to be blocked, or still are since they were named before.
  void remember(const std::vector<std::int32_t>& threads) {
    for (const auto thread : threads) {
      const auto [at, fresh] = before_.try_emplace(thread);
      if (fresh && ::sched_getaffinity(thread, sizeof at->second, &at->second) != 0)
        before_.erase(at);
    }
  }

  /// The calling thread woke. It may block again, and be bound again, without being named again.
  void unbind() {
    if (!before_.empty()) unbind(before_.find(::gettid()));
  }

  /// The calling thread goes on in the program, or ends.
  void go_on() {
    if (before_.empty()) return;
    const auto mine = before_.find(::gettid());
    unbind(mine);
    if (mine != before_.end()) before_.erase(mine);
  }

 private:
  using entry = std::unordered_map<std::int32_t, cpu_set_t>::iterator;
  void unbind(entry mine) {
    cpu_set_t now;
    if (mine == before_.end() || ::sched_getaffinity(0, sizeof now, &now) != 0) return;
    if (CPU_COUNT(&now) == 1 && !CPU_EQUAL(&now, &mine->second))
      ::sched_setaffinity(0, sizeof now, &mine->second);
  }

  std::unordered_map<std::int32_t, cpu_set_t> before_;
};

}  // namespace troupe
