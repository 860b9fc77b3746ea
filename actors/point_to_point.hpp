// point_to_point: which send meets which recv within one communicator.
//
// Order: messages of one (source, destination, tag) do not overtake each other. gloo and mpi match
// by tag; nccl ignores it. A send is a rendezvous: it completes when its recv is there. Not here:
// bytes; who waits.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/collective.hpp"
#include "messages/error.hpp"

namespace troupe {

class point_to_point {
 public:
  point_to_point(std::vector<rank_id> members, semantics rules, std::string name);

  /// Names a posted call to its poster, who keeps what belongs to it.
  using ticket = std::uint64_t;
  struct match {
    ticket send{}, recv{};
    std::uint32_t source{}, destination{};  ///< group ranks
  };

  /// Posts a send or recv of `group_rank` under the caller's ticket. A match, if it completes one;
  /// errc::mismatch if the two that meet differ in size or type (both are forgotten: `met` then
  /// names the other one).
  result<std::optional<match>> post(std::uint32_t group_rank, const collective_call& call,
                                    std::string call_site, ticket number,
                                    std::optional<ticket>& met);

  struct open_call {
    ticket number{};
    std::uint32_t group_rank{};
    std::int32_t peer{};  ///< group rank, any_source
    std::string name;     ///< "send(f32 × 4)"
    std::string text;     ///< "rank 0 called send(f32 × 4) to rank 1 at a.py:3"
    std::string call_site;
  };
  /// What waits, the oldest first.
  std::vector<open_call> open() const;
  /// The call was given up by its poster.
  void forget(ticket number);
  /// The member has ended: forgets what it would have received, and returns its tickets. What it
  /// sent can still be received; what others sent to it or expect of it stays open.
  std::vector<ticket> withdraw(std::uint32_t group_rank);

 private:
  struct posted {
    ticket number{};
    std::uint32_t group_rank{};
    collective_call call;
    std::string call_site;
  };
  bool meets(const posted& send, const posted& recv) const;
  bool is_member(std::int32_t group_rank) const;
  std::string text(const posted& call) const;

  std::vector<rank_id> members_;
  semantics rules_;
  std::string name_;
  // By destination; each list in order of posting.
  std::map<std::uint32_t, std::deque<posted>> sends_, recvs_;
};

}  // namespace troupe
