// group_findings: what one communicator has to say of calls that are wrong, or may be: findings, in
// sentences that name ranks, operations and call sites.
//
// Not here: what is wrong (rendezvous.hpp, site_agreement.hpp, pair_order.hpp); who is told
// (group_proxy.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/findings.hpp"
#include "actors/pair_order.hpp"
#include "actors/rendezvous.hpp"
#include "actors/site_agreement.hpp"

namespace troupe {

class group_findings {
 public:
  /// `calls` outlives this: it knows the members and the group's name.
  group_findings(communicator_id id, const rendezvous& calls) : id_(id), calls_(calls) {}

  /// A member that a finding is about, and its call where there is one.
  struct concerned {
    std::uint32_t group_rank{};
    std::string operation = {}, call_site = {};
  };
  static concerned caller(std::uint32_t group_rank, const collective_call& call,
                          const std::string& site);

  finding of(const error& why, sequence_number sequence, std::vector<concerned> who) const;
  /// Why those who have joined the collective wait for ever: a member is gone.
  error lack_of(const error& cause, sequence_number sequence) const;

  /// A collective is complete with these calls, by group rank. A warning of calls that met from
  /// different places, each pair of places once.
  std::optional<finding> complete(sequence_number sequence, const std::vector<member_call>& calls);
  /// A message outside of a batch where NCCL matches messages. A warning: the first time, and of a
  /// circle.
  std::optional<finding> unbatched(std::uint32_t group_rank, const collective_call& call,
                                   const std::string& call_site);

 private:
  rank_id member(std::uint32_t group_rank) const { return calls_.members()[group_rank]; }
  std::string name_ranks(const std::vector<std::uint32_t>& group_ranks) const;

  communicator_id id_;
  const rendezvous& calls_;
  site_agreement sites_;
  pair_order pairs_;
  bool warned_of_unbatched_ = false;
};

}  // namespace troupe
