// rank_state: what a rank owes its process: answers to its calls, and slots it asked for. Not here:
// when they are due (rank.cpp, rank_turn.hpp).
#pragma once

#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"

namespace troupe {

/// An operation whose answer is owed to the driver.
struct owed_answer {
  std::function<void()> deliver;             // set once the result is known
  std::function<void(const error&)> refuse;  // the rank ends before
  std::optional<wait_target> target;         // what a slot_keeper may know of it
  bool recorded = false;                     // it is a node of the graph
};

struct opened_group {
  group_proxy_actor proxy;
  std::uint32_t group_rank = 0, index = 0;
  std::uint16_t stream = 0;
  std::uint32_t size = 0;
  bool ready = false;
  std::optional<caf::error> refused;
  std::vector<std::function<void()>> deferred;  // calls made before the proxy was known
  std::map<std::tuple<operation, std::int32_t, std::int32_t>, std::uint64_t>
      messages;  // by direction, peer, tag
};

struct rank_state {
  std::map<operation_id, owed_answer> answers;
  std::vector<caf::typed_response_promise<slot_granted>> wants_slot;

  ~rank_state() {
    const error over{errc::lost_rank, "the rank has ended"};
    for (auto& [operation, answer] : answers) answer.refuse(over);
    for (auto& held : wants_slot) held.deliver(to_caf(over));
  }
};

}  // namespace troupe
