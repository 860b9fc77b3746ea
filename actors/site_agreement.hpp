// site_agreement: do the members of a communicator call from the same places? A call that one of
// them swapped, skipped or made twice can match another of the same signature; its place tells.
//
// Programs branch by rank (the root calls here, the others there), so that different places are
// nothing yet. They are told of when a member has called at both: neither its rank nor its being
// the root explains then which of the two it calls. Not here: signatures (rendezvous.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/rendezvous.hpp"

namespace troupe {

class site_agreement {
 public:
  struct caller {
    std::uint32_t group_rank = 0;
    member_call call;
  };
  /// Two calls that met as one collective and may not belong together.
  struct doubt {
    sequence_number sequence;
    caller one, other;
    std::uint32_t at_both = 0;  ///< group rank of a member that calls at both places
  };

  /// Takes a complete collective's calls, by group rank. Returns a pair of places that has become
  /// doubtful, each pair once; places that are not known ("") agree with all.
  std::optional<doubt> take(sequence_number sequence, const std::vector<member_call>& calls);

 private:
  static constexpr std::size_t sites_max = 4096;  // more are not looked at

  struct site {
    std::set<std::uint32_t> callers;
    bool as_root = false, as_other = false;
  };
  struct meeting {
    sequence_number sequence;
    caller one, other;
  };
  using site_number = std::uint32_t;

  site_number number_of(const std::string& name);
  std::optional<std::uint32_t> at_both(const site& one, const site& other) const;

  std::map<std::string, site_number, std::less<>> numbers_;
  std::vector<site> sites_;
  std::map<std::pair<site_number, site_number>, meeting> met_;  // not doubtful so far
  std::set<std::pair<site_number, site_number>> told_;
};

}  // namespace troupe
