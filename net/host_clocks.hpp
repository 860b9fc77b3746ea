// host_clocks: of each rank's cpus and nics, until when they are taken, and who waits for that.
//
// Numbers of cpus and nics may have holes: only those that operations name have clocks.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "net/wait_queue.hpp"

namespace troupe {

struct cpu_clock {
  std::uint64_t free_ns = 0;
  wait_queue waiting;
};

/// Sending and receiving each have a gap of their own.
struct nic_clock {
  std::uint64_t send_free_ns = 0, recv_free_ns = 0;
  std::uint64_t intake_free_ns = 0;  ///< until when it takes in what arrived
  wait_queue waiting_to_send, waiting_to_recv;
};

class host_clocks {
 public:
  explicit host_clocks(const goal::schedule& of);

  cpu_clock& cpu(const goal::operation& of) { return cpus_[index(cpu_of_[of.rank], of.cpu)]; }
  nic_clock& nic(const goal::operation& of) { return nics_[index(nic_of_[of.rank], of.nic)]; }
  /// The nic by which a message arrives: the one of the sender's number, or the nearest.
  nic_clock& nic_for(const goal::operation& send) {
    return nics_[index(nic_of_[send.peer], send.nic)];
  }
  /// Until when the rank's last cpu is taken.
  std::uint64_t finish_ns(std::uint32_t rank) const;

 private:
  /// A rank's numbers 0 to count - 1; or, where `numbers` is set, those that begin there.
  struct place {
    std::uint32_t first{}, count{};
    std::uint32_t numbers = dense;
    static constexpr std::uint32_t dense = ~std::uint32_t{0};
  };
  std::uint32_t index(const place& of, std::uint16_t number) const {
    if (of.numbers == place::dense) return of.first + (number < of.count ? number : of.count - 1);
    return of.first + find(of, number);
  }
  std::uint32_t find(const place& of, std::uint16_t number) const;
  place place_of(std::vector<std::uint16_t>& numbers, std::uint32_t& total);

  std::vector<place> cpu_of_, nic_of_;  // [rank]
  std::vector<std::uint16_t> numbers_;  // ascending, of each rank that has holes
  std::vector<cpu_clock> cpus_;
  std::vector<nic_clock> nics_;
};

}  // namespace troupe
