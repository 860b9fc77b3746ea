// communication_plan: what the ranks of a graph must agree on before each becomes a rank of a
// schedule: where members are, which tags messages carry, what each gives in an all_to_all.
//
// One pass over the trace, without loading it. Tags: each communicator has a range of its own; in
// it each collective has some of its own, and each tag that the program gave messages has one a
// pair of places in two ranks. Not here: the operations (trace_expansion.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/goal/collective_expansion.hpp"
#include "graph/prism_trace_reader.hpp"
#include "graph/schedule/collective_algorithm.hpp"
#include "graph/schedule/host_layout.hpp"

namespace troupe::goal {

class communication_plan {
 public:
  /// `ranks_together`: so many ranks of the graph are one of the schedule; `how`: every
  /// collective's algorithm. Errors are the reader's.
  static result<communication_plan> make(prism_trace_reader& trace, std::uint32_t ranks_together,
                                         const schedule_options& how);

  /// The graph's ranks, node by node: in order; where several are a node, those of one process
  /// stand together.
  std::span<const std::uint32_t> order() const { return order_; }
  /// Above all streams of all ranks.
  std::uint32_t streams() const { return streams_; }
  /// With the tag of this collective.
  expansion_options expansion_of(std::uint32_t communicator, std::uint64_t sequence) const;
  /// How the communicator does this collective: as it was said, or where that algorithm does not
  /// know it, as the one that is taken when nobody says.
  schedule_options how(std::uint32_t communicator, std::uint64_t sequence,
                       const collective_shape& what) const;
  /// Do the members of this all_to_all give different numbers of bytes?
  bool is_uneven(std::uint32_t communicator, std::uint64_t sequence) const;
  /// The tag of a message that the program gave this one. `from`, `to`: group ranks.
  std::uint64_t tag_of(std::uint32_t communicator, std::int32_t tag, std::uint32_t from,
                       std::uint32_t to) const {
    const auto& place = places_[communicator];
    return place.message_tags.at(tag) + place.seats[from] * place.seats_max + place.seats[to];
  }
  /// [group rank]: bytes that the member gives to all in this all_to_all.
  std::span<const std::uint64_t> given(std::uint32_t communicator, std::uint64_t sequence) const;
  /// [group rank]: its rank in the schedule.
  std::span<const std::uint32_t> ranks(std::uint32_t communicator) const {
    return places_[communicator].ranks;
  }

 private:
  struct communicator_place {
    std::vector<std::uint32_t> ranks, seats;  // [group rank]
    std::uint32_t seats_max = 1, lanes = 1;
    std::optional<host_layout> hosts;
    std::uint64_t sequence_end = 0;                      // above all collectives'
    std::uint64_t first_tag = 0;                         // of the collectives'
    std::map<std::int32_t, std::uint64_t> message_tags;  // the first for each of the program's
  };

  void put_in_order(const prism_trace_reader& trace, std::uint32_t ranks_together);
  result<void> survey(prism_trace_reader& trace);
  void number_tags();

  schedule_options how_;
  std::vector<std::uint32_t> order_;
  std::uint32_t streams_ = 1;
  std::vector<communicator_place> places_;  // [communicator]
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint64_t>> given_;
};

/// Whose number a rank has in each communicator.
class group_ranks {
 public:
  group_ranks(rank_id rank, std::span<const communicator_entry> communicators)
      : rank_(rank), communicators_(communicators) {}
  std::uint32_t in(std::uint32_t communicator);

 private:
  rank_id rank_;
  std::span<const communicator_entry> communicators_;
  std::map<std::uint32_t, std::uint32_t> known_;
};

}  // namespace troupe::goal
