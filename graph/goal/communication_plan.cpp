#include "graph/goal/communication_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace troupe::goal {

std::uint32_t group_ranks::in(std::uint32_t communicator) {
  const auto [at, is_new] = known_.try_emplace(communicator);
  if (is_new) {
    const auto& members = communicators_[communicator].members;
    at->second = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank_)
                                            - members.begin());
  }
  return at->second;
}

result<communication_plan> communication_plan::make(prism_trace_reader& trace,
                                                    std::uint32_t ranks_together,
                                                    const schedule_options& how) {
  communication_plan made;
  made.how_ = how;
  made.put_in_order(trace, ranks_together);
  std::vector<std::uint32_t> node_of(trace.world());
  for (std::uint32_t place = 0; place < trace.world(); ++place)
    node_of[made.order_[place]] = place / ranks_together;
  for (const auto& each : trace.communicators()) {
    auto& place = made.places_.emplace_back();
    std::map<std::uint32_t, std::uint32_t> seated;  // [rank of the schedule]: members
    for (const auto member : each.members) {
      const auto rank = node_of[member.value];
      place.ranks.push_back(rank);
      place.seats.push_back(seated[rank]++);
      place.seats_max = std::max(place.seats_max, place.seats.back() + 1);
    }
    auto of_group = how;
    if (how.how == algorithm::nccl) of_group.hosts = &place.hosts.emplace(place.ranks);
    place.lanes = lanes_of(of_group);
  }
  if (auto surveyed = made.survey(trace); !surveyed) return surveyed.error();
  made.number_tags();
  return made;
}

void communication_plan::put_in_order(const prism_trace_reader& trace,
                                      std::uint32_t ranks_together) {
  order_.resize(trace.world());
  std::iota(order_.begin(), order_.end(), 0u);
  if (ranks_together == 1) return;
  std::stable_sort(order_.begin(), order_.end(), [&](auto one, auto other) {
    return one % trace.processes() < other % trace.processes();
  });
}

result<void> communication_plan::survey(prism_trace_reader& trace) {
  std::optional<group_ranks> mine;
  rank_id whose;
  return trace.scan([&](const node_columns& nodes) -> result<void> {
    if (!mine || whose != nodes.rank) {
      mine.emplace(nodes.rank, trace.communicators());
      whose = nodes.rank;
    }
    for (const auto& shape : nodes.shapes) {
      streams_ = std::max(streams_, shape.stream + 1u);
      if (shape.kind == node_kind::send || shape.kind == node_kind::recv)
        places_[shape.communicator].message_tags.try_emplace(shape.tag);
    }
    for (std::uint32_t i = 0; i < nodes.count; ++i) {
      const auto& shape = nodes.shapes[nodes.shape[i]];
      if (shape.kind != node_kind::collective) continue;
      auto& place = places_[shape.communicator];
      place.sequence_end = std::max(place.sequence_end, nodes.sequence[i] + 1);
      if (shape.op != troupe::operation::all_to_all) continue;
      auto& given = given_[{shape.communicator, nodes.sequence[i]}];
      given.resize(place.ranks.size());
      given[mine->in(shape.communicator)] = shape.size;
    }
    return {};
  });
}

void communication_plan::number_tags() {
  std::uint64_t next = 0;
  for (auto& place : places_) {
    place.first_tag = next;
    const auto pairs = std::uint64_t{place.seats_max} * place.seats_max;
    next += place.sequence_end * place.lanes * pairs;
    for (auto& [tag, number] : place.message_tags) number = std::exchange(next, next + pairs);
  }
}

expansion_options communication_plan::expansion_of(std::uint32_t communicator,
                                                   std::uint64_t sequence) const {
  const auto& place = places_[communicator];
  expansion_options made;
  made.lanes = place.lanes;
  made.ranks = place.ranks;
  made.seats = place.seats;
  made.seats_max = place.seats_max;
  made.tag = place.first_tag + sequence * tags_of(made);
  return made;
}

bool communication_plan::is_uneven(std::uint32_t communicator, std::uint64_t sequence) const {
  const auto all = given(communicator, sequence);
  return std::any_of(all.begin(), all.end(), [&](auto bytes) { return bytes != all[0]; });
}

schedule_options communication_plan::how(std::uint32_t communicator, std::uint64_t sequence,
                                         const collective_shape& what) const {
  const bool has_splits =
      what.op == troupe::operation::all_to_all && is_uneven(communicator, sequence);
  auto made = how_;
  // All members choose alike, whatever their own counts: linear takes any.
  if (has_splits && how_.how != algorithm::pairwise && how_.how != algorithm::nccl)
    made.how = algorithm::linear;
  else if (!knows(how_.how, what.op) || how_.how == algorithm::automatic)
    made.how = choose_algorithm(what);
  if (made.how == algorithm::nccl) made.hosts = &*places_[communicator].hosts;
  return made;
}

std::span<const std::uint64_t> communication_plan::given(std::uint32_t communicator,
                                                         std::uint64_t sequence) const {
  return given_.at({communicator, sequence});
}

}  // namespace troupe::goal
