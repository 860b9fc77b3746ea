// rendezvous: who has joined which collective of one communicator, and whether the members agree.
//
// Invariants: a sequence number completes or fails at most once; after it failed, later joins of it
// get the same error. Not here: point-to-point calls (point_to_point.hpp); what the members get
// (collective_result.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/collective.hpp"
#include "messages/error.hpp"

namespace troupe {

/// A member's call as the rendezvous compares it.
struct member_call {
  collective_call call;
  std::string call_site;     ///< "" where unknown
  operation_id operation{};  ///< the member's own number for it
};

class rendezvous {
 public:
  /// `members` in group order; `name` for messages.
  rendezvous(std::vector<rank_id> members, std::string name);

  enum class joined { waiting, complete };
  /// Member `group_rank` joins. errc::mismatch names both ranks, their calls and call sites, and
  /// fails the sequence; errc::bad_input when it waits there already, which concerns nobody else.
  result<joined> join(std::uint32_t group_rank, sequence_number sequence, member_call call);

  /// The calls that the last refused join was about: of the member that joined, and of the one it
  /// disagrees with if there is one.
  const std::vector<std::pair<std::uint32_t, member_call>>& disagreed() const { return disagreed_; }

  /// The members' calls of a complete sequence, by group rank; forgets the sequence.
  std::vector<member_call> take(sequence_number sequence);

  /// The sequence cannot complete any more: every later join of it gets `why`.
  void fail(sequence_number sequence, error why);

  bool has_failed(sequence_number sequence) const { return failed_.contains(sequence); }

  /// Sequences that some members have joined and others not: the oldest first.
  struct open_sequence {
    sequence_number sequence;
    std::string operation;
    std::vector<std::uint32_t> joined, missing;  ///< group ranks
    std::vector<const member_call*> calls;       ///< of those who joined
  };
  std::vector<open_sequence> open() const;
  /// The sequences that `group_rank` has not joined and others have.
  std::vector<sequence_number> missing(std::uint32_t group_rank) const;

  const std::vector<rank_id>& members() const { return members_; }
  const std::string& name() const { return name_; }
  std::string describe_join(std::uint32_t group_rank, sequence_number sequence,
                            const member_call& call) const;

 private:
  struct meeting {
    std::vector<std::optional<member_call>> calls;
    std::uint32_t present = 0, first = 0;
  };
  std::optional<error> disagreement(sequence_number sequence, std::uint32_t group_rank,
                                    const member_call& call, const meeting& so_far) const;
  std::optional<error> split_disagreement(sequence_number sequence, const meeting& all);

  std::vector<rank_id> members_;
  std::string name_;
  std::map<sequence_number, meeting> open_;
  std::map<sequence_number, error> failed_;
  std::vector<std::pair<std::uint32_t, member_call>> disagreed_;
};

}  // namespace troupe
