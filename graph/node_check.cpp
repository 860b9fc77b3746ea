#include "graph/node_check.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool in_range(const node& what) {
  return static_cast<int>(what.kind) < node_kind_count
         && static_cast<int>(what.op) < operation_count
         && static_cast<int>(what.type) < element_type_count
         && static_cast<int>(what.reduce) < reduction_count
         && static_cast<int>(what.marker) < marker_kind_count;
}

bool kind_fits_operation(const node& what) {
  if (what.kind == node_kind::send) return what.op == operation::send;
  if (what.kind == node_kind::recv) return what.op == operation::recv;
  return what.kind != node_kind::collective || !is_point_to_point(what.op);
}

bool is_ascending(const std::vector<std::uint32_t>& after) {
  return after.empty()
         || (after.front() >= 1
             && std::adjacent_find(after.begin(), after.end(), std::greater_equal<>())
                    == after.end());
}

}  // namespace

bool node_check::is_member(std::uint32_t communicator) {
  auto [known, is_new] = membership_.try_emplace(communicator);
  if (is_new) {
    const auto& members = communicators_[communicator].members;
    known->second = std::find(members.begin(), members.end(), rank_) != members.end();
  }
  return known->second;
}

std::string node_check::wrong_shape(const node& what) {
  if (!in_range(what)) return "a kind, operation, type, reduction or marker that does not exist";
  if (!kind_fits_operation(what))
    return std::string("a ") + to_string(what.kind) + " node whose operation is "
           + to_string(what.op);
  if (what.after.size() > node_after_max)
    return "a node after " + std::to_string(what.after.size()) + " others, expected at most "
           + std::to_string(node_after_max);
  if (!is_ascending(what.after)) return "edges that are not ascending distances";
  if (what.call_site != 0 && what.call_site >= call_sites_)
    return "call site " + std::to_string(what.call_site) + ", expected less than "
           + std::to_string(std::max(call_sites_, 1u));
  if (!communicates(what.kind)) return {};
  if (what.communicator >= communicators_.size())
    return "communicator " + std::to_string(what.communicator) + ", expected less than "
           + std::to_string(communicators_.size());
  if (!is_member(what.communicator))
    return "communicator " + std::to_string(what.communicator) + ", of which rank "
           + std::to_string(rank_.value) + " is no member";
  const auto members = static_cast<std::int64_t>(communicators_[what.communicator].members.size());
  const bool names_peer = what.kind != node_kind::collective || is_rooted(what.op);
  const bool may_be_any = what.kind == node_kind::recv && what.peer == any_source;
  if (names_peer && !may_be_any && (what.peer < 0 || what.peer >= members))
    return "peer " + std::to_string(what.peer) + " of a communicator of " + std::to_string(members);
  return {};
}

}  // namespace troupe
