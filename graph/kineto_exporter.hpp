// kineto_exporter: a timeline as the JSON that PyTorch's profiler writes (Kineto, Chrome's trace
// events).
//
// One process a rank, pid = rank. Threads: 0 the program, then the communicators' streams, last the
// slot. Communication carries the arguments PyTorch gives it ("Collective name", "In msg nelems",
// "dtype", "Group size", …); an arrow goes from the compute span that issued it. Times are
// microseconds with three decimals from the run's start. Of one rank the file is what PyTorch
// writes for one (distributedInfo has its rank); of several it has no rank there. Not in it: "Out
// msg nelems" of all_to_all, whose uneven parts a graph does not have.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/buffered_output.hpp"
#include "graph/timeline_exporter.hpp"

namespace troupe {

class kineto_exporter final : public timeline_exporter {
 public:
  /// `only`: the one rank that will be added, if there will be one only.
  kineto_exporter(buffered_output& to, std::optional<rank_id> only) : to_(to), only_(only) {}

  void begin(const execution_graph& tables) override;
  void add(rank_id rank, std::span<const node> nodes,
           std::span<const slot_interval> of_rank) override;
  void end() override;

 private:
  struct place {
    rank_id rank;
    std::size_t thread{};
  };

  void event(char phase, const char* name, place where, std::uint64_t at_ns,
             const std::string& rest);
  void span(const char* category, const std::string& name, place where, std::uint64_t start_ns,
            std::uint64_t end_ns, const std::string& arguments);
  void arrow(rank_id rank, const rank_timeline& timeline, std::size_t issuer,
             std::size_t operation);
  void describe(const char* what, place where, const std::string& name, std::size_t order);
  std::string arguments(const node& what, rank_id rank, std::size_t index);
  const std::string& call_site(std::uint32_t number);
  std::int64_t group_rank(std::uint32_t communicator, rank_id rank);
  const std::string& group_arguments(std::uint32_t communicator);

  buffered_output& to_;
  std::optional<rank_id> only_;
  const execution_graph* tables_ = nullptr;
  std::vector<std::string> group_arguments_;           // [communicator], made when first needed
  std::vector<std::string> call_sites_;                // [call site], likewise, quoted
  std::map<std::uint32_t, std::int64_t> group_ranks_;  // of the rank being added
  bool has_events_ = false;
  std::uint64_t arrows_ = 0;
};

}  // namespace troupe
