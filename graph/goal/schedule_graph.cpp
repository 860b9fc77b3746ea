#include "graph/goal/schedule_graph.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>

#include "graph/node_check.hpp"

namespace troupe::goal {
namespace {

/// What each operation of a rank waits for; numbers within the rank.
struct waits {
  std::vector<std::vector<std::uint32_t>> ends, starts;
};

waits waits_of(const schedule& what, std::uint32_t rank) {
  const auto first = what.first_of(rank), size = what.size_of(rank);
  waits made{std::vector<std::vector<std::uint32_t>>(size),
             std::vector<std::vector<std::uint32_t>>(size)};
  for (std::uint32_t i = 0; i < size; ++i)
    for (const auto later : what.dependents(first + i))
      (later.waits_for_start() ? made.starts : made.ends)[later.operation() - first].push_back(i);
  return made;
}

/// An order in which they may go, the lowest first; shorter than all where they wait in a circle.
std::vector<std::uint32_t> order_of(const schedule& what, std::uint32_t rank, const waits& on) {
  const auto first = what.first_of(rank), size = what.size_of(rank);
  std::vector<std::size_t> left(size);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < size; ++i)
    if ((left[i] = on.ends[i].size() + on.starts[i].size()) == 0) ready.push(i);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const auto next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const auto later : what.dependents(first + next))
      if (--left[later.operation() - first] == 0) ready.push(later.operation() - first);
  }
  return order;
}

/// Each operation's place in the order, and after which places it comes.
class edges {
 public:
  edges(const waits& on, const std::vector<std::uint32_t>& order) : on_(on), place_(order.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    starts_after_.resize(order.size());
    for (const auto operation : order) {
      auto& mine = starts_after_[operation];
      for (const auto earlier : on_.ends[operation]) mine.push_back(place_[earlier]);
      for (const auto earlier : on_.starts[operation])
        mine.insert(mine.end(), starts_after_[earlier].begin(), starts_after_[earlier].end());
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      if ((count_ += mine.size()) > edges_max) return;
    }
  }
  static constexpr std::size_t edges_max = std::size_t{1} << 26;
  bool are_too_many() const { return count_ > edges_max; }
  /// Ascending.
  const std::vector<std::uint32_t>& before(std::uint32_t operation) const {
    return starts_after_[operation];
  }

 private:
  const waits& on_;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> place_;                      // [operation]
  std::vector<std::vector<std::uint32_t>> starts_after_;  // [operation]
};

/// Streams, and the place of each one's last node.
class stream_chains {
 public:
  /// errc::bad_input: too many.
  result<std::uint16_t> take(std::uint32_t place, const std::vector<std::uint32_t>& before,
                             bool computes) {
    constexpr std::size_t streams_max = std::numeric_limits<std::uint16_t>::max();
    if (last_.empty()) last_.push_back(none);  // the program's
    for (auto each = before.rbegin(); each != before.rend(); ++each)
      if (const auto at = stream_of_.find(*each); at != stream_of_.end())
        return put(place, at->second);
    if (computes && last_[0] == none) return put(place, 0);
    if (last_.size() > streams_max)
      return error{errc::bad_input, "more than 65535 operations that wait for none of each other"};
    last_.push_back(none);
    return put(place, static_cast<std::uint16_t>(last_.size() - 1));
  }
  /// The place of the node before it on its stream; none: it is the first.
  std::uint32_t previous() const { return previous_; }
  static constexpr std::uint32_t none = ~std::uint32_t{0};

 private:
  std::uint16_t put(std::uint32_t place, std::uint16_t stream) {
    previous_ = std::exchange(last_[stream], place);
    if (previous_ != none) stream_of_.erase(previous_);
    stream_of_[place] = stream;
    return stream;
  }
  std::vector<std::uint32_t> last_;                   // [stream]
  std::map<std::uint32_t, std::uint16_t> stream_of_;  // of the places that are last
  std::uint32_t previous_ = none;
};

/// errc::bad_input: a graph has no such message.
result<void> describe(const schedule& what, const operation& from, node& to) {
  to.kind = from.kind == operation_kind::send ? node_kind::send : node_kind::recv;
  to.op = from.kind == operation_kind::send ? troupe::operation::send : troupe::operation::recv;
  to.type = element_type::u8;
  to.size = from.size;
  to.peer = from.peer == any_source ? troupe::any_source : static_cast<std::int32_t>(from.peer);
  const auto tag = what.tag(from);
  if (tag == any_tag)
    return error{errc::bad_input, "a recv of any tag, which a graph does not have"};
  if (tag > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    return error{errc::bad_input,
                 "tag " + std::to_string(tag) + ", expected at most 2147483647 in a graph"};
  to.tag = static_cast<std::int32_t>(tag);
  return {};
}

class graph_writer {
 public:
  graph_writer(const schedule& what, std::uint32_t rank)
      : what_(what), rank_(rank), waits_(waits_of(what, rank)) {}

  result<rank_nodes> write() {
    const auto order = order_of(what_, rank_, waits_);
    if (order.size() < what_.size_of(rank_))
      return error{errc::bad_input, std::to_string(what_.size_of(rank_) - order.size())
                                        + " operations wait for each other in a circle"};
    const edges all(waits_, order);
    if (all.are_too_many())
      return error{
          errc::no_resources,
          "more than " + std::to_string(edges::edges_max)
              + " edges in a graph: operations that wait for starts wait for what those wait for"};
    rank_nodes made;
    for (std::uint32_t place = 0; place < order.size(); ++place) {
      TROUPE_TRY(next, make(order[place], place, all.before(order[place])));
      made.nodes.push_back(std::move(next));
      made.operations.push_back(what_.first_of(rank_) + order[place]);
    }
    return made;
  }

 private:
  result<node> make(std::uint32_t operation, std::uint32_t place,
                    const std::vector<std::uint32_t>& before) {
    const auto& from = what_[what_.first_of(rank_) + operation];
    node made;
    made.kind = node_kind::compute;
    if (from.kind == operation_kind::calc) {
      if (from.size >= node_time_ns_max)
        return error{errc::bad_input,
                     "a calc of " + std::to_string(from.size) + " ns, longer than a graph counts"};
      made.duration_ns = from.size;
    } else {
      if (auto described = describe(what_, from, made); !described) return described.error();
      made.sequence = ++sent_[{made.kind, made.peer, made.tag}];
    }
    TROUPE_TRY(stream, streams_.take(place, before, from.kind == operation_kind::calc));
    made.stream = stream;
    for (auto each = before.rbegin(); each != before.rend(); ++each)
      if (*each != streams_.previous() || made.kind != node_kind::compute)
        made.after.push_back(place - *each);
    return made;
  }

  const schedule& what_;
  const std::uint32_t rank_;
  const waits waits_;
  stream_chains streams_;
  std::map<std::tuple<node_kind, std::int32_t, std::int32_t>, std::uint64_t> sent_;
};

}  // namespace

result<execution_graph> tables_of(const schedule& what) {
  execution_graph made;
  made.world = what.ranks();
  made.stage = graph_stage::timed;
  communicator_entry world;
  world.id = communicator_id{1};
  for (std::uint32_t rank = 0; rank < what.ranks(); ++rank) world.members.push_back(rank_id{rank});
  world.rules = semantics::mpi;
  world.name = "world";
  made.communicators.push_back(std::move(world));
  made.call_sites.emplace_back();
  return made;
}

result<rank_nodes> nodes_of(const schedule& what, std::uint32_t rank) {
  auto made = graph_writer(what, rank).write();
  if (!made)
    return error{made.error().code,
                 "rank " + std::to_string(rank) + " has " + made.error().context};
  return made;
}

}  // namespace troupe::goal
