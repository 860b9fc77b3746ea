// launched_ranks: the ranks among the processes of a program that starts them itself: who is which
// rank, and how each ended.
//
// A process says that it is a rank (rank_notice.h); its end is told by its parent, in whose process
// our wait is, or seen: a child that its parent leaves alone for `patience` is read from /proc. A
// parent that waits without us and leaves no trace of how its child ended is an error, not a guess.
// Invariants: a rank starts once and ends once. Not here: processes of our own (warden.cpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interpose/descriptor.hpp"
#include "interpose/launch/rank_notice.h"
#include "messages/wire_codec.hpp"

namespace troupe {

class launched_ranks {
 public:
  using moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds patience{250};
  /// A parent that has waited for its child may be slow to say so.
  static constexpr std::chrono::seconds parents_patience{10};

  static result<launched_ranks> open(std::uint32_t world);

  const std::string& socket_name() const { return name_; }
  int readable() const { return poller_.get(); }  ///< when there is something for read()
  /// Until when to wait for something to read before asking overdue(); -1: for ever. In ms.
  int timeout_ms(moment now) const;

  std::vector<from_launcher::frame> read(moment now);
  std::vector<from_launcher::frame> overdue(moment now);
  /// A process that the caller itself waited for.
  std::vector<from_launcher::frame> reaped(pid_t pid, int wait_status, std::uint64_t cpu_ns,
                                           std::uint64_t peak_bytes);

  std::vector<pid_t> alive() const;
  std::uint32_t seen() const { return seen_; }

 private:
  struct process {
    rank_id rank;
    descriptor pidfd;
    bool gone = false;  ///< a zombie at least, since:
    moment since{}, look_at{};
    std::uint64_t peak_bytes = 0;  ///< as it said when it left
  };

  void begin(const troupe_rank_notice& notice, std::vector<from_launcher::frame>& frames);

  std::uint32_t world_{}, seen_ = 0;
  std::string name_;
  descriptor socket_, poller_;
  std::map<pid_t, process> processes_;
  std::vector<bool> was_seen_;
};

}  // namespace troupe
