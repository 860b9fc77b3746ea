#include "actors/slot_cores.hpp"

#include <sched.h>

#include <utility>

namespace troupe {
namespace {

class slot_cores final : public thread_placement {
 public:
  explicit slot_cores(std::vector<int> cores) : cores_(std::move(cores)) {}

  void place(const std::vector<std::int32_t>& threads, slot_id slot) override {
    if (slot.value >= cores_.size()) return;
    const auto core = cores_[slot.value];
    cpu_set_t wanted, allowed;
    CPU_ZERO(&wanted);
    CPU_SET(core, &wanted);
    for (const auto thread : threads)
      if (::sched_getaffinity(thread, sizeof allowed, &allowed) == 0 && CPU_ISSET(core, &allowed))
        ::sched_setaffinity(thread, sizeof wanted, &wanted);
  }

 private:
  std::vector<int> cores_;  // [slot]
};

}  // namespace

std::unique_ptr<thread_placement> make_slot_cores(std::uint32_t slots) {
  cpu_set_t ours;
  if (::sched_getaffinity(0, sizeof ours, &ours) != 0) return nullptr;  // more cores than it holds
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &ours)) cores.push_back(core);
  if (cores.size() != slots) return nullptr;
  return std::make_unique<slot_cores>(std::move(cores));
}

}  // namespace troupe
