#include "graph/schedule/collective_shape.hpp"

#include <string>

#include "messages/assert.hpp"

namespace troupe {
namespace {

bool has_root(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

/// Elements of all parts together, of a call's or node's count.
std::uint64_t all_parts(operation op, std::uint64_t count, std::uint32_t members) {
  const bool is_of_one =
      op == operation::all_gather || op == operation::gather || op == operation::scatter;
  return is_of_one ? count * members : count;
}

}  // namespace

collective_shape even_shape(operation op, std::uint32_t members, std::uint64_t elements,
                            std::uint32_t self, std::uint32_t element_bytes, std::uint32_t root) {
  TROUPE_ASSERT(members > 0 && self < members && root < members, self, root, members);
  collective_shape made{op, members, root, element_bytes, {elements, members}, {}};
  if (op == operation::all_to_all) made.incoming = {made.parts.count(self) * members, members};
  return made;
}

collective_shape uneven_shape(operation op, std::span<const std::uint64_t> counts,
                              std::uint32_t element_bytes, std::uint32_t root) {
  TROUPE_ASSERT(!counts.empty() && root < counts.size(), counts.size(), root);
  return {
      op, static_cast<std::uint32_t>(counts.size()), root, element_bytes, part_layout::of(counts),
      {}};
}

collective_shape exchange_shape(std::span<const std::uint64_t> given,
                                std::span<const std::uint64_t> got, std::uint32_t element_bytes) {
  TROUPE_ASSERT(!given.empty() && given.size() == got.size(), given.size(), got.size());
  auto made = uneven_shape(operation::all_to_all, given, element_bytes);
  made.incoming = part_layout::of(got);
  return made;
}

result<collective_shape> shape_of(const collective_call& call, std::uint32_t self,
                                  std::uint32_t members) {
  if (is_point_to_point(call.op)) return error{errc::bad_input, describe(call) + ": no collective"};
  if (auto valid = validate(call, self, members); !valid) return valid.error();
  const auto bytes = size_of(call.type);
  if (!call.send_counts.empty()) return exchange_shape(call.send_counts, call.recv_counts, bytes);
  const auto root = has_root(call.op) ? static_cast<std::uint32_t>(call.root) : 0;
  return even_shape(call.op, members, all_parts(call.op, call.count, members), self, bytes, root);
}

result<collective_shape> shape_of(const node& what, std::uint32_t self, std::uint32_t members) {
  if (what.kind != node_kind::collective)
    return error{errc::bad_input, std::string("a ") + to_string(what.kind) + " is no collective"};
  std::uint32_t root = 0;
  if (has_root(what.op)) {
    root = static_cast<std::uint32_t>(what.peer);
    if (what.peer < 0 || root >= members)
      return error{errc::bad_input, std::string(to_string(what.op)) + ": root "
                                        + std::to_string(what.peer) + " is outside the group of "
                                        + std::to_string(members)};
  }
  auto bytes = size_of(what.type);
  if (what.size % bytes != 0) bytes = 1;
  const auto given = what.size / bytes;
  const bool is_whole = what.op == operation::scatter && root == self;  // others say their part
  return even_shape(what.op, members, is_whole ? given : all_parts(what.op, given, members), self,
                    bytes, root);
}

bool is_empty(const collective_shape& what) {
  return what.members == 1
         || (what.op != operation::barrier && what.parts.total() == 0
             && what.incoming.total() == 0);
}

}  // namespace troupe
