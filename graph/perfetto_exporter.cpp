#include "graph/perfetto_exporter.hpp"

#include <algorithm>
#include <numeric>

#include "messages/assert.hpp"
#include "messages/release_reason.hpp"

namespace troupe {
namespace {

// Field numbers by message.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace trace_packet {
constexpr std::uint32_t timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12,
                        sequence_flags = 13, track_descriptor = 60;
constexpr std::uint64_t state_cleared = 1, needs_state = 2;
}  // namespace trace_packet
namespace interned_data {
constexpr std::uint32_t categories = 1, names = 2, annotation_names = 3;
constexpr std::uint32_t iid = 1, name = 2;  // of each
}  // namespace interned_data
namespace track_descriptor {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, parent_uuid = 5, child_ordering = 11,
                        sibling_order_rank = 12;
constexpr std::uint64_t ordered_explicitly = 3;
}  // namespace track_descriptor
namespace process_descriptor {
constexpr std::uint32_t pid = 1, name = 6;
}
namespace track_event {
constexpr std::uint32_t category_iids = 3, annotations = 4, type = 9, name_iid = 10,
                        track_uuid = 11, flow_ids = 47, terminating_flow_ids = 48;
constexpr std::uint64_t slice_begin = 1, slice_end = 2, instant = 3;
}  // namespace track_event
namespace annotation {
constexpr std::uint32_t name_iid = 1, uint_value = 3, string_value = 6;
}

constexpr std::uint64_t sequence = 1;
// Track numbers: a rank's process, its rows behind it; the slots' process before all of them.
constexpr std::uint64_t tracks_per_rank = std::uint64_t{1} << 32;
constexpr std::uint64_t slots_process = 1;
std::uint64_t process_of(rank_id rank) { return (std::uint64_t{rank.value} + 1) * tracks_per_rank; }

}  // namespace

std::uint64_t perfetto_exporter::interned::number(const std::string& text, std::uint32_t field,
                                                  protobuf_sink& fresh) {
  auto [known, is_new] = numbers_.try_emplace(text, numbers_.size() + 1);
  if (is_new) {
    protobuf_sink entry;
    entry.integer(interned_data::iid, known->second);
    entry.text(interned_data::name, text);
    fresh.message(field, entry);
  }
  return known->second;
}

void perfetto_exporter::packet(protobuf_sink content) {
  content.integer(trace_packet::sequence_id, sequence);
  content.integer(trace_packet::sequence_flags,
                  trace_packet::needs_state | (has_packets_ ? 0 : trace_packet::state_cleared));
  has_packets_ = true;
  protobuf_sink framed;
  framed.message(trace::packet, content);
  to_.put(framed.bytes());
}

void perfetto_exporter::process(std::uint64_t uuid, std::uint64_t pid, const std::string& name) {
  protobuf_sink who, descriptor, content;
  who.integer(process_descriptor::pid, pid);
  who.text(process_descriptor::name, name);
  descriptor.integer(track_descriptor::uuid, uuid);
  descriptor.text(track_descriptor::name, name);
  descriptor.message(track_descriptor::process, who);
  descriptor.integer(track_descriptor::child_ordering, track_descriptor::ordered_explicitly);
  content.message(trace_packet::track_descriptor, descriptor);
  packet(std::move(content));
}

void perfetto_exporter::track(std::uint64_t uuid, std::uint64_t parent, std::uint64_t order,
                              const std::string& name) {
  protobuf_sink descriptor, content;
  descriptor.integer(track_descriptor::uuid, uuid);
  descriptor.text(track_descriptor::name, name);
  descriptor.integer(track_descriptor::parent_uuid, parent);
  descriptor.integer(track_descriptor::sibling_order_rank, order);
  content.message(trace_packet::track_descriptor, descriptor);
  packet(std::move(content));
}

void perfetto_exporter::put(const slice& what, protobuf_sink fresh) {
  protobuf_sink event, content;
  event.integer(track_event::type,
                what.is_instant ? track_event::instant : track_event::slice_begin);
  event.integer(track_event::track_uuid, what.track);
  event.integer(track_event::name_iid, names_.number(what.name, interned_data::names, fresh));
  event.integer(track_event::category_iids,
                categories_.number(what.category, interned_data::categories, fresh));
  if (what.starts_arrow != 0) event.fixed64(track_event::flow_ids, what.starts_arrow);
  if (what.ends_arrow != 0) event.fixed64(track_event::terminating_flow_ids, what.ends_arrow);
  content.integer(trace_packet::timestamp, what.start_ns);
  if (!fresh.empty()) content.message(trace_packet::interned_data, fresh);
  content.text(trace_packet::track_event, event.bytes() + what.annotations.bytes());
  packet(std::move(content));
  if (what.is_instant) return;

  protobuf_sink end, last;
  end.integer(track_event::type, track_event::slice_end);
  end.integer(track_event::track_uuid, what.track);
  last.integer(trace_packet::timestamp, what.end_ns);
  last.message(trace_packet::track_event, end);
  packet(std::move(last));
}

void perfetto_exporter::annotate(protobuf_sink& event, protobuf_sink& fresh, const char* name,
                                 const std::string& value) {
  protobuf_sink entry;
  entry.integer(annotation::name_iid,
                annotation_names_.number(name, interned_data::annotation_names, fresh));
  entry.text(annotation::string_value, value);
  event.message(track_event::annotations, entry);
}

void perfetto_exporter::annotate(protobuf_sink& event, protobuf_sink& fresh, const char* name,
                                 std::uint64_t value) {
  protobuf_sink entry;
  entry.integer(annotation::name_iid,
                annotation_names_.number(name, interned_data::annotation_names, fresh));
  entry.integer(annotation::uint_value, value);
  event.message(track_event::annotations, entry);
}

void perfetto_exporter::annotate_node(protobuf_sink& event, protobuf_sink& fresh, const node& what,
                                      rank_id rank, std::size_t index) {
  annotate(event, fresh, "node", index);
  if (what.call_site != 0) annotate(event, fresh, "call site", tables_->call_sites[what.call_site]);
  if (what.kind == node_kind::copy) annotate(event, fresh, "bytes", what.size);
  if (!communicates(what.kind)) return;
  const auto& group = tables_->communicators[what.communicator];
  annotate(event, fresh, "bytes", what.size);
  annotate(event, fresh, "type", to_string(what.type));
  annotate(event, fresh, "communicator", what.communicator);
  annotate(event, fresh, "sequence", what.sequence);
  annotate(event, fresh, "group size", group.members.size());
  if (what.reduce != reduction::none)
    annotate(event, fresh, "reduction", std::string(to_string(what.reduce)));
  if (what.kind != node_kind::collective && what.peer >= 0) {
    annotate(event, fresh, "from rank",
             what.kind == node_kind::send ? rank.value : group.members[what.peer].value);
    annotate(event, fresh, "to rank",
             what.kind == node_kind::send ? group.members[what.peer].value : rank.value);
    annotate(event, fresh, "tag", std::to_string(what.tag));
  }
}

void perfetto_exporter::begin(const execution_graph& tables) {
  tables_ = &tables;
  std::map<slot_id, std::vector<slot_interval>> slots;
  for (const auto& interval : tables.slots) slots[interval.slot].push_back(interval);
  if (slots.empty()) return;
  process(slots_process, std::uint64_t{tables.world} + 1, "slots");
  std::uint64_t tracks = 0;
  for (auto& [slot, intervals] : slots) {
    std::stable_sort(intervals.begin(), intervals.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    const auto first = slots_process + 1 + tracks;
    timeline_lanes lanes;  // one, unless a file claims that two ranks held a slot at once
    for (const auto& interval : intervals) {
      const auto start = std::min(interval.start_ns, timeline_ns_max);
      const auto end = std::clamp(interval.end_ns, start, timeline_ns_max);
      const auto known = lanes.count(), lane = lanes.take(start, end);
      if (lanes.count() > known)
        track(first + lane, slots_process, tracks++,
              "slot " + std::to_string(slot.value)
                  + (lane > 0 ? ", lane " + std::to_string(lane) : ""));
      slice what{first + lane, start, end, "rank " + std::to_string(interval.rank.value), "slot"};
      protobuf_sink fresh;
      annotate(what.annotations, fresh, "given up",
               to_string(static_cast<release_reason>(interval.why)));
      put(what, std::move(fresh));
    }
  }
}

void perfetto_exporter::add(rank_id rank, std::span<const node> nodes,
                            std::span<const slot_interval> of_rank) {
  TROUPE_ASSERT(tables_ != nullptr);
  const auto timeline = lay_out(nodes);
  const auto base = process_of(rank);
  process(base, std::uint64_t{rank.value} + 1, "rank " + std::to_string(rank.value));
  for (std::size_t row = 0; row < timeline.rows.size(); ++row)
    track(base + 1 + row, base, row, row_name(timeline.rows[row], tables_->communicators));
  const auto slot_row = timeline.rows.size();
  track(base + 1 + slot_row, base, slot_row, "slot");

  std::vector<std::uint64_t> starts_arrow(nodes.size()), ends_arrow(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (communicates(nodes[i].kind))
      if (const auto issuer = issuer_of(nodes, i); issuer < nodes.size() && !starts_arrow[issuer])
        starts_arrow[issuer] = ends_arrow[i] = ++arrows_;
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return timeline.start_ns[a] < timeline.start_ns[b]; });
  for (auto i : order) {
    if (to_.failed()) return;
    slice what{base + 1 + timeline.row[i],
               timeline.start_ns[i],
               timeline.end_ns[i],
               node_name(nodes[i], tables_->communicators),
               to_string(nodes[i].kind),
               nodes[i].kind == node_kind::marker,
               starts_arrow[i],
               ends_arrow[i]};
    protobuf_sink fresh;
    annotate_node(what.annotations, fresh, nodes[i], rank, i);
    put(what, std::move(fresh));
  }
  for (const auto& span : slot_spans(of_rank))
    put({base + 1 + slot_row, span.start_ns, span.end_ns, span_name(span), "slot"}, {});
}

void perfetto_exporter::end() {}

}  // namespace troupe
