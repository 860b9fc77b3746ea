#include "graph/timeline_exporter.hpp"

#include "messages/release_reason.hpp"

namespace troupe {

std::string row_name(const timeline_row& row, std::span<const communicator_entry> communicators) {
  if (row.stream == 0 && row.lane == 0) return "program";
  auto name = "stream " + std::to_string(row.stream);
  if (row.has_communicator && !communicators[row.communicator].name.empty())
    name += ": " + communicators[row.communicator].name;
  if (row.lane > 0) name += ", lane " + std::to_string(row.lane);
  return name;
}

std::string node_name(const node& what, std::span<const communicator_entry> communicators) {
  if (what.kind == node_kind::marker) return to_string(what.marker);
  if (!communicates(what.kind)) return to_string(what.kind);
  return std::string(to_string(communicators[what.communicator].rules)) + ":" + to_string(what.op);
}

std::string span_name(const slot_span& span) {
  if (span.is_running) return "running on slot " + std::to_string(span.slot.value);
  return std::string("blocked: ") + to_string(static_cast<release_reason>(span.why));
}

std::size_t issuer_of(std::span<const node> nodes, std::size_t operation) {
  for (auto distance : nodes[operation].after)  // ascending distances: the latest comes first
    if (distance <= operation && nodes[operation - distance].kind == node_kind::compute)
      return operation - distance;
  return nodes.size();
}

}  // namespace troupe
