// group_state: what a communicator's proxy keeps of calls that are not over: who waits for them,
// and how they fail. Not here: when they complete (group_proxy.cpp).
#pragma once

#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/collective_execution.hpp"
#include "actors/contribution.hpp"
#include "actors/errors.hpp"
#include "actors/point_to_point.hpp"
#include "actors/rendezvous.hpp"
#include "actors/requests.hpp"

namespace troupe {

struct group_state {
  using promise = caf::typed_response_promise<collective_resolved>;

  struct meeting {
    std::shared_ptr<collective_execution> execution;  // shared with the workers' jobs
    std::map<std::uint32_t, promise> waiting;         // by group rank
    bool all_joined = false;
    std::uint32_t depth = 0;  // the greatest of its members'
    std::uint32_t jobs = 0;
  };

  struct message_call {
    std::optional<promise> held;  // none: a send that completed before its recv
    contribution bytes;
    std::uint32_t poster = 0;  // group rank
    operation_id operation;
    collective_call call;
    std::string call_site;
  };

  /// A failed collective whose folds still run: until the last is done its regions are not free.
  struct abandoned {
    std::shared_ptr<collective_execution> execution;
    std::uint32_t jobs = 0;
  };

  std::optional<rendezvous> calls;
  std::optional<point_to_point> messages;
  std::map<sequence_number, meeting> meetings;
  std::map<sequence_number, abandoned> failing;
  std::map<point_to_point::ticket, message_call> posted;
  /// Bytes of sends that completed before their recv, by group ranks from and to.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> on_the_way;
  std::map<std::uint32_t, error> withdrawn;
  point_to_point::ticket tickets = 0;
  payload_pools* pools = nullptr;

  void fail(sequence_number sequence, const error& why) {
    auto found = meetings.extract(sequence);
    if (found.empty()) return;
    auto& meeting = found.mapped();
    if (meeting.jobs == 0)
      meeting.execution->abandon();
    else
      failing[sequence] = {meeting.execution, meeting.jobs};
    for (auto& [member, held] : meeting.waiting) held.deliver(to_caf(why));
  }
  void fail_message(point_to_point::ticket number, const error& why) {
    auto found = posted.extract(number);
    if (found.empty()) return;
    found.mapped().bytes.set_readers(0, *pools);
    if (found.mapped().held) found.mapped().held->deliver(to_caf(why));
  }
  ~group_state() {  // CAF 0.17 has no broken promise: whoever still waits would wait for ever
    const error closed{errc::lost_rank, "the run has ended"};
    while (!meetings.empty()) fail(meetings.begin()->first, closed);
    while (!posted.empty()) fail_message(posted.begin()->first, closed);
  }
};

}  // namespace troupe
