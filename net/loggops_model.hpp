// loggops_model: LogGOPS, message by message, as ATLAHS computes it where it is right.
//
// A calc takes its cpu. A send takes its cpu for o + (size-1)·O and its nic's send gap for g +
// (size-1)·G, both from the first moment at which both are free; its message arrives L + (size-1)·G
// after the cpu is done. A recv is posted when its turn comes and needs nothing; what it matches it
// receives when its cpu and its nic's receive gap are free (receiver_model). A message above S
// bytes ends its send only when it is received. Of what waits for one cpu or gap, and among equal
// times, first come first served. Nobody who waits is asked in vain. Not here: matching
// (message_matching.hpp), the parameters (loggops_parameters.hpp).
#pragma once

#include <optional>

#include "net/host_clocks.hpp"
#include "net/loggops_parameters.hpp"
#include "net/message_matching.hpp"
#include "net/network_model.hpp"
#include "net/span_observer.hpp"

namespace troupe {

class loggops_model final : public network_model {
 public:
  /// `observer` (may be null) hears of every span of a cpu.
  explicit loggops_model(loggops_parameters parameters, span_observer* observer = nullptr)
      : parameters_(parameters), observer_(observer) {}

  /// errc::bad_input: the sum of all times goes beyond what is counted in.
  result<void> begin(schedule_progress& progress) override;
  void handle(const simulation_event& event) override;
  void prepare(const simulation_event& event) override;

  std::uint64_t finish_ns(std::uint32_t rank) const override { return clocks_->finish_ns(rank); }
  std::uint64_t matched() const override { return matched_; }
  bool has_ended(std::uint32_t operation) const override;
  std::vector<simulation_warning> warnings() const override;
  std::vector<std::pair<std::string, std::string>> description() const override;

 private:
  using operation = goal::operation;

  result<void> check_times() const;
  const operation& at(std::uint32_t index) const { return progress_->schedule()[index]; }
  operation_state& state(std::uint32_t index) { return progress_->state(index); }
  std::uint64_t bandwidth_ns(const operation& send) const {
    return static_cast<std::uint64_t>(static_cast<double>(send.size > 0 ? send.size - 1 : 0)
                                      * parameters_.gap_per_byte_ns);
  }
  std::uint64_t overhead_ns(const operation& send) const {
    return static_cast<std::uint64_t>(static_cast<double>(send.size > 0 ? send.size - 1 : 0)
                                      * parameters_.overhead_per_byte_ns);
  }
  bool is_rendezvous(const operation& send) const {
    return (send.size > 0 ? send.size : 1) > parameters_.eager_bytes_max;
  }
  std::uint64_t noise_ns(std::uint32_t index, std::uint64_t which, std::uint64_t of_ns) const;

  void take_turn(std::uint32_t index, std::uint64_t now, std::uint32_t order);
  void wake(std::uint32_t index, std::uint64_t now);
  void calculate(std::uint32_t index, std::uint64_t now, std::uint32_t order);
  void send(std::uint32_t index, std::uint64_t now, std::uint32_t order);
  void post(std::uint32_t recv, std::uint64_t now, std::uint32_t order);
  void arrive(std::uint32_t send, std::uint64_t now, std::uint32_t order);
  void deliver(std::uint32_t send, std::uint64_t now, std::uint32_t order);
  /// False: it waits.
  bool may_receive(std::uint32_t recv, std::uint64_t now, std::uint32_t order);
  void receive(std::uint32_t recv, std::uint64_t now, bool was_posted);
  void note_sizes(const operation& send, const operation& recv);

  void wait(wait_queue& in, operation_phase why, std::uint32_t index, std::uint32_t order,
            std::uint64_t free_ns);
  void arm(wait_queue& queue, std::uint64_t at_ns);

  const loggops_parameters parameters_;
  span_observer* const observer_;
  schedule_progress* progress_ = nullptr;
  std::optional<host_clocks> clocks_;
  message_matching matching_;
  std::uint64_t matched_ = 0;
  simulation_warning put_back_{"recv_put_back", 0, ""};
  simulation_warning larger_{"recv_larger", 0, ""}, smaller_{"recv_smaller", 0, ""};
};

}  // namespace troupe
