#include "actors/virtual_scheduler.hpp"

#include <caf/actor.hpp>
#include <caf/execution_unit.hpp>
#include <caf/make_actor.hpp>
#include <caf/resumable.hpp>

#include "actors/silent_printer.hpp"

namespace troupe {

class virtual_scheduler::unit final : public caf::execution_unit {
 public:
  explicit unit(virtual_scheduler& parent) : execution_unit(&parent.system()), parent_(parent) {}
  void exec_later(caf::resumable* job) override { parent_.jobs_.push_back(job); }

 private:
  virtual_scheduler& parent_;
};

void virtual_scheduler::drain() {
  unit here{*this};
  while (!jobs_.empty()) {
    auto job = jobs_.front();
    jobs_.pop_front();
    ++resumed_;
    switch (job->resume(&here, max_throughput())) {
      case caf::resumable::resume_later:
        jobs_.push_back(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        break;
      default:
        caf::intrusive_ptr_release(job);
    }
  }
}

void virtual_scheduler::run() {
  for (drain(); auto due = clock_.next_due(); drain()) {
    clock_.advance_to(*due);
    clock_.fire_due();
  }
}

void virtual_scheduler::run_until(nanos until) {
  const virtual_clock::time_point limit{until};
  for (drain(); auto due = clock_.next_due(); drain()) {
    if (*due > limit) break;
    clock_.advance_to(*due);
    clock_.fire_due();
  }
  clock_.advance_to(limit);
}

void virtual_scheduler::start() {
  unit here{*this};
  caf::actor_config config{&here};
  utility_actors_[printer_id] = caf::make_actor<silent_printer, caf::actor>(
      system().next_actor_id(), system().node(), &system(), config);
}

}  // namespace troupe
