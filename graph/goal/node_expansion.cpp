#include "graph/goal/node_expansion.hpp"

#include <algorithm>

namespace troupe::goal {

node_expansion::node_expansion(const communication_plan& plan,
                               std::span<const communicator_entry> communicators,
                               const trace_expansion_options& options, std::uint32_t self,
                               std::uint32_t first, schedule_builder& to, algorithms_used& used)
    : plan_(plan),
      communicators_(communicators),
      options_(options),
      self_(self),
      first_(first),
      to_(to),
      used_(used) {}

result<std::vector<node_place>> node_expansion::add(rank_id rank, std::uint32_t seat,
                                                    std::span<const node> nodes) {
  walk on{rank, seat, group_ranks(rank, communicators_), nodes};
  on.places.reserve(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const auto& what = nodes[i];
    result<void> done;
    if (what.kind == node_kind::collective)
      done = add_collective(on, what, i);
    else if (communicates(what.kind))
      done = add_message(on, what, i);
    else
      add_span(on, what, i);
    if (!done)
      return error{done.error().code, "node " + std::to_string(i) + " of rank "
                                          + std::to_string(rank.value) + ": "
                                          + done.error().context};
  }
  for (auto& place : on.places) place = {first_ + place.begin, first_ + place.end};
  return std::move(on.places);
}

/// Operations that end before the node begins.
std::vector<std::uint32_t> node_expansion::dependencies_of(const walk& on, std::uint32_t index,
                                                           const stream_state& stream,
                                                           bool with_last,
                                                           bool with_messages) const {
  std::vector<std::uint32_t> found;
  for (const auto distance : on.nodes[index].after)
    if (distance <= index) found.push_back(on.places[index - distance].end);
  if (with_last && stream.has_last) found.push_back(stream.last);
  if (with_messages) found.insert(found.end(), stream.messages.begin(), stream.messages.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void node_expansion::add_span(walk& on, const node& what, std::uint32_t index) {
  auto& stream = on.streams[what.stream];
  const auto before = dependencies_of(on, index, stream, true, true);
  const auto made = what.kind == node_kind::marker ? moment(on.seat)
                                                   : to_.add({.kind = operation_kind::calc,
                                                              .size = what.duration_ns,
                                                              .cpu = cpu(on.seat, what.stream)});
  wait_for(made, before);
  on.places.push_back({made, made});
  stream = {.has_last = true, .last = made, .messages = {}};
}

result<void> node_expansion::add_collective(walk& on, const node& what, std::uint32_t index) {
  const bool waits_for_messages = communicators_[what.communicator].rules == semantics::nccl;
  auto& stream = on.streams[what.stream];
  const auto before = dependencies_of(on, index, stream, true, waits_for_messages);
  const node_place place{moment(on.seat), moment(on.seat)};
  wait_for(place.begin, before);
  on.places.push_back(place);
  stream.has_last = true;
  stream.last = place.end;
  if (waits_for_messages) stream.messages.clear();

  const auto ranks = plan_.ranks(what.communicator);
  const auto here = std::count(ranks.begin(), ranks.end(), self_);
  const waiting_part part{place, on.groups.in(what.communicator), cpu(on.seat, what.stream),
                          static_cast<std::uint16_t>(on.seat), what};
  if (here == 1) return expand({&part, 1});
  const auto key = std::pair(what.communicator, what.sequence);
  auto& waiting = collectives_[key];
  waiting.push_back(part);
  if (static_cast<std::ptrdiff_t>(waiting.size()) < here) return {};
  auto all = std::move(waiting);
  collectives_.erase(key);
  return expand(all);
}

result<void> node_expansion::add_message(walk& on, const node& what, std::uint32_t index) {
  const bool waits_for_last = communicators_[what.communicator].rules == semantics::nccl;
  auto& stream = on.streams[what.stream];
  const auto before = dependencies_of(on, index, stream, waits_for_last, false);
  const node_place place{moment(on.seat), moment(on.seat)};
  wait_for(place.begin, before);
  on.places.push_back(place);
  stream.messages.push_back(place.end);

  const auto ranks = plan_.ranks(what.communicator);
  const bool is_any = what.peer == troupe::any_source;
  if (is_any && options_.gpus_per_node > 1)
    return error{errc::usage, "a recv from any source cannot be regrouped into nodes"};
  if (!is_any && ranks[static_cast<std::size_t>(what.peer)] == self_)
    return join_inside(on, what, place);
  const bool is_send = what.kind == node_kind::send;
  const auto self = on.groups.in(what.communicator);
  const auto peer = is_any ? self : static_cast<std::uint32_t>(what.peer);
  const auto made = to_.add({.kind = is_send ? operation_kind::send : operation_kind::recv,
                             .size = what.size,
                             .peer = is_any ? any_source : ranks[peer],
                             .tag = plan_.tag_of(what.communicator, what.tag, is_send ? self : peer,
                                                 is_send ? peer : self),
                             .cpu = cpu(on.seat, what.stream),
                             .nic = static_cast<std::uint16_t>(on.seat)});
  to_.depend(made, place.begin, false);
  if (stream.has_message) to_.depend(made, stream.message, true);
  to_.depend(place.end, made, false);
  stream.has_message = true;
  stream.message = made;
  return {};
}

/// Both ends of the message are here: a calc of its receiver.
result<void> node_expansion::join_inside(walk& on, const node& what, node_place place) {
  const bool is_send = what.kind == node_kind::send;
  const std::int64_t self = on.groups.in(what.communicator), peer = what.peer;
  const waiting_end mine{place, is_send, cpu(on.seat, what.stream)};
  const auto key = std::tuple(what.communicator, is_send ? self : peer, is_send ? peer : self,
                              what.tag, what.sequence);
  const auto [at, is_first] = messages_.try_emplace(key, mine);
  if (is_first) return {};
  const auto other = at->second;
  if (other.is_send == is_send && self != peer)
    return error{errc::bad_input, "a message is sent or received twice"};
  messages_.erase(at);
  const auto time = static_cast<double>(what.size) * options_.inside_ns_per_byte;
  const auto moved = to_.add({.kind = operation_kind::calc,
                              .size = options_.inside_latency_ns + static_cast<std::uint64_t>(time),
                              .cpu = is_send ? other.cpu : mine.cpu});
  for (const auto& each : {place, other.place}) {
    to_.depend(moved, each.begin, false);
    to_.depend(each.end, moved, false);
  }
  return {};
}

result<collective_shape> node_expansion::shape(const node& what, std::uint32_t member) const {
  const auto members = static_cast<std::uint32_t>(communicators_[what.communicator].members.size());
  if (what.op != troupe::operation::all_to_all) return shape_of(what, member, members);
  if (!plan_.is_uneven(what.communicator, what.sequence)) return shape_of(what, member, members);
  const auto given = plan_.given(what.communicator, what.sequence);
  std::vector<std::uint64_t> to_each(members), from_each(members);
  for (std::uint32_t other = 0; other < members; ++other) {
    to_each[other] = part_layout(given[member], members).count(other);
    from_each[other] = part_layout(given[other], members).count(member);
  }
  return exchange_shape(to_each, from_each);
}

/// Of an all_to_all a member may give and get nothing while others do not.
bool node_expansion::moves_nothing(const node& what, const collective_shape& shape) const {
  if (what.op != troupe::operation::all_to_all || shape.members == 1) return is_empty(shape);
  const auto given = plan_.given(what.communicator, what.sequence);
  return std::all_of(given.begin(), given.end(), [](auto bytes) { return bytes == 0; });
}

result<void> node_expansion::expand(std::span<const waiting_part> parts) {
  const auto& first = parts.front().what;
  auto options = plan_.expansion_of(first.communicator, first.sequence);
  options.inside_latency_ns = options_.inside_latency_ns;
  options.inside_ns_per_byte = options_.inside_ns_per_byte;
  options.reduce_ns_per_byte = options_.reduce_ns_per_byte;
  if (programs_.size() < parts.size()) programs_.resize(parts.size());
  std::vector<member_part> members;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TROUPE_TRY(what, shape(parts[i].what, parts[i].member));
    if (moves_nothing(parts[i].what, what)) {  // so it is for all members
      for (const auto& each : parts) to_.depend(each.place.end, each.place.begin, false);
      return {};
    }
    auto how = plan_.how(first.communicator, first.sequence, what);
    auto written = write_program(what, parts[i].member, how, programs_[i]);
    if (!written && written.error().code == errc::usage) {  // not with such counts
      how.how = choose_algorithm(what);
      written = write_program(what, parts[i].member, how, programs_[i]);
    }
    if (!written) return written.error();
    used_[first.op].insert(how.how);
    members.push_back({.program = &programs_[i],
                       .member = parts[i].member,
                       .cpu = parts[i].cpu,
                       .nic = parts[i].nic,
                       .after = {&parts[i].place.begin, 1}});
  }
  const auto ends = expand_together(members, options, to_);
  for (std::size_t i = 0; i < parts.size(); ++i) wait_for(parts[i].place.end, ends[i]);
  return {};
}

result<void> node_expansion::end() const {
  if (!collectives_.empty()) {
    const auto& [key, parts] = *collectives_.begin();
    const auto& what = parts.front().what;
    return error{errc::bad_input, std::string(to_string(what.op)) + " " + std::to_string(key.second)
                                      + " of communicator " + std::to_string(key.first) + " has "
                                      + std::to_string(parts.size()) + " of its members in node "
                                      + std::to_string(self_) + ": the others' nodes are missing"};
  }
  if (!messages_.empty()) {
    const auto& [communicator, from, to, tag, sequence] = messages_.begin()->first;
    return error{errc::bad_input, "message " + std::to_string(sequence) + " with tag "
                                      + std::to_string(tag) + " from member " + std::to_string(from)
                                      + " to member " + std::to_string(to) + " of communicator "
                                      + std::to_string(communicator) + " has one of its ends only"};
  }
  return {};
}

}  // namespace troupe::goal
