#include "actors/rank_member.hpp"

namespace troupe {

std::optional<node> rank_member::node_of(const to_troupe::issue& call, opened_group& group,
                                         std::uint32_t call_site) {
  const auto& what = call.call;
  if (!validate(what, group.group_rank, group.size)) return std::nullopt;
  const auto given = input_count(what, group.group_rank, group.size);
  node made;
  made.kind = what.op == operation::send   ? node_kind::send
              : what.op == operation::recv ? node_kind::recv
                                           : node_kind::collective;
  made.stream = group.stream;
  made.op = what.op;
  made.type = what.type;
  made.reduce = what.reduce;
  made.communicator = group.index;
  made.sequence = is_point_to_point(what.op) ? ++group.messages[{what.op, what.root, what.tag}]
                                             : call.sequence.value;
  made.size =
      (given ? given : output_count(what, group.group_rank, group.size)) * size_of(what.type);
  made.peer = what.root;
  made.tag = what.tag;
  made.call_site = call_site;
  return made;
}

}  // namespace troupe
