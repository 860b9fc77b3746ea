#include "graph/schedule/collective_algorithm.hpp"

#include <algorithm>
#include <bit>

#include "graph/schedule/algorithms.hpp"
#include "graph/schedule/nccl.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

using enum operation;
using options = schedule_options;

/// Whom places count from.
enum class from { member_0, root };

struct known {
  operation op;
  from first;
  result<void> (*write)(round_writer&, const options&);
};

template <void (*write)(round_writer&)>
result<void> plain(round_writer& to, const options&) {
  write(to);
  return {};
}
result<void> check_chunks(std::uint64_t chunks) {
  if (chunks <= collective_chunks_max) return {};
  return error{
      errc::no_resources,
      "a collective has at most " + std::to_string(collective_chunks_max) + " pieces of a vector"};
}

template <void (*write)(round_writer&, std::uint64_t)>
result<void> chunked(round_writer& to, const options& of) {
  const auto bytes = to.shape.parts.total() * to.shape.element_bytes;
  if (auto few = check_chunks(bytes / std::max<std::uint64_t>(of.chunk_bytes, 1)); !few)
    return few.error();
  write(to, of.chunk_bytes);
  return {};
}

/// What NCCL is asked for: torch makes a barrier an all_reduce of one element.
collective_shape asked_of_nccl(const collective_shape& what) {
  if (what.op != barrier) return what;
  const auto elements = what.parts.total();
  return even_shape(all_reduce, what.members, std::max<std::uint64_t>(elements, 1), 0,
                    elements > 0 ? what.element_bytes : 4);
}

/// `alone`: for those that were given none.
const host_layout& hosts_of(const options& of, const host_layout& alone) {
  return of.hosts != nullptr ? *of.hosts : alone;
}

/// Places are group ranks.
result<void> as_nccl(round_writer& to, const options& of) {
  const auto what = asked_of_nccl(to.shape);
  to.program.clear(what.element_bytes);
  if (what.members == 1) return {};
  const auto alone = host_layout::consecutive(of.hosts != nullptr ? 1 : what.members, 1);
  const auto& hosts = hosts_of(of, alone);
  TROUPE_ASSERT(hosts.members() == what.members, hosts.members(), what.members);
  TROUPE_TRY(plan, make_nccl_plan(what, hosts, of.nccl));
  if (auto few = check_chunks(steps_of(plan, what)); !few) return few.error();
  const auto write = plan.how == nccl_algorithm::tree ? rounds::nccl_tree : rounds::nccl_ring;
  write(what, to.place, plan, hosts, of.nccl, to.program);
  return {};
}

struct entry {
  algorithm which;
  const char *name, *what;
  std::vector<known> knows;
};

const std::vector<entry>& table() {
  using namespace rounds;
  static const std::vector<entry> all = {
      {algorithm::binomial,
       "binomial",
       "along a binomial tree; what has no root, by way of member 0",
       {{broadcast, from::root, plain<binomial_broadcast>},
        {reduce, from::root, plain<binomial_reduce>},
        {gather, from::root, plain<binomial_gather>},
        {scatter, from::root, plain<binomial_scatter>},
        {all_reduce, from::member_0, plain<binomial_all_reduce>},
        {all_gather, from::member_0, plain<binomial_all_gather>},
        {reduce_scatter, from::member_0, plain<binomial_reduce_scatter>},
        {barrier, from::member_0, plain<binomial_barrier>}}},
      {algorithm::bruck,
       "bruck",
       "log2 rounds of messages of many parts",
       {{all_gather, from::member_0, plain<bruck_all_gather>},
        {all_to_all, from::member_0, plain<bruck_all_to_all>}}},
      {algorithm::dissemination,
       "dissemination",
       "log2 rounds, the k-th to the member 2^k further on",
       {{barrier, from::member_0, plain<dissemination_barrier>}}},
      {algorithm::double_tree,
       "double-tree",
       "two binary trees, each with half of the vector, in chunks",
       {{all_reduce, from::member_0, chunked<double_tree_all_reduce>},
        {broadcast, from::root, chunked<double_tree_broadcast>},
        {reduce, from::root, chunked<double_tree_reduce>}}},
      {algorithm::halving_doubling,
       "halving-doubling",
       "exchanges of halves, quarters, … and back, any number of members",
       {{all_reduce, from::member_0, plain<halving_doubling_all_reduce>},
        {reduce_scatter, from::member_0, plain<halving_doubling_reduce_scatter>},
        {broadcast, from::root, plain<halving_doubling_broadcast>},
        {reduce, from::member_0, plain<halving_doubling_reduce>}}},
      {algorithm::linear,
       "linear",
       "each to whom it is for, all at once",
       {{all_to_all, from::member_0, plain<linear_all_to_all>},
        {all_gather, from::member_0, plain<linear_all_gather>},
        {reduce_scatter, from::member_0, plain<linear_reduce_scatter>},
        {all_reduce, from::member_0, plain<linear_all_reduce>},
        {broadcast, from::root, plain<linear_broadcast>},
        {reduce, from::root, plain<linear_reduce>},
        {gather, from::root, plain<linear_gather>},
        {scatter, from::root, plain<linear_scatter>},
        {barrier, from::member_0, plain<linear_barrier>}}},
      {algorithm::nccl,
       "nccl",
       "NCCL's rings and trees, in channels, chunks and slices",
       {{all_reduce, from::member_0, as_nccl},
        {broadcast, from::member_0, as_nccl},
        {reduce, from::member_0, as_nccl},
        {all_gather, from::member_0, as_nccl},
        {reduce_scatter, from::member_0, as_nccl},
        {barrier, from::member_0, as_nccl},
        {all_to_all, from::member_0, plain<linear_all_to_all>},
        {gather, from::root, plain<linear_gather>},
        {scatter, from::root, plain<linear_scatter>}}},
      {algorithm::pairwise,
       "pairwise",
       "each to whom it is for, one after the other",
       {{all_to_all, from::member_0, plain<pairwise_all_to_all>},
        {reduce_scatter, from::member_0, plain<pairwise_reduce_scatter>}}},
      {algorithm::recursive_doubling,
       "recursive-doubling",
       "exchanges of all there is, any number of members",
       {{all_reduce, from::member_0, plain<recursive_doubling_all_reduce>},
        {all_gather, from::member_0, plain<recursive_doubling_all_gather>},
        {barrier, from::member_0, plain<recursive_doubling_barrier>}}},
      {algorithm::ring,
       "ring",
       "part by part around the ring",
       {{all_reduce, from::member_0, plain<ring_all_reduce>},
        {reduce_scatter, from::member_0, plain<ring_reduce_scatter>},
        {all_gather, from::member_0, plain<ring_all_gather>},
        {broadcast, from::root, plain<ring_broadcast>},
        {reduce, from::root, plain<ring_reduce>}}},
  };
  return all;
}

const entry* find(algorithm which) {
  for (const auto& each : table())
    if (each.which == which) return &each;
  return nullptr;
}

const known* find(const entry& in, operation op) {
  for (const auto& each : in.knows)
    if (each.op == op) return &each;
  return nullptr;
}

error unknown(const entry& which, operation op) {
  std::string list;
  for (const auto& each : which.knows)
    list += (list.empty() ? "" : ", ") + std::string(to_string(each.op));
  return {errc::usage,
          std::string(which.name) + " knows no " + to_string(op) + " (it knows " + list + ")"};
}

bool is_power_of_two(std::uint32_t n) { return std::has_single_bit(n); }

algorithm choose_all_to_all(const collective_shape& what) {
  if (!what.parts.is_uniform() || !what.incoming.is_uniform()) return algorithm::linear;
  const auto bytes = what.parts.count(0) * what.element_bytes;
  if (what.members >= 8 && bytes <= 256) return algorithm::bruck;
  return bytes <= 32 << 10 ? algorithm::linear : algorithm::pairwise;
}

}  // namespace

const char* to_string(algorithm which) {
  const auto* found = find(which);
  return found != nullptr ? found->name : "automatic";
}

const char* describe(algorithm which) {
  const auto* found = find(which);
  return found != nullptr ? found->what : "what MPICH takes for the collective and its size";
}

const std::vector<algorithm>& algorithms() {
  static const auto all = [] {
    std::vector<algorithm> names;
    for (const auto& each : table()) names.push_back(each.which);
    return names;
  }();
  return all;
}

result<algorithm> parse_algorithm(std::string_view name) {
  std::string list = "automatic";
  if (name == list) return algorithm::automatic;
  for (const auto& each : table()) {
    if (name == each.name) return each.which;
    list += ", " + std::string(each.name);
  }
  return error{errc::usage, "there is no algorithm " + std::string(name) + " (" + list + ")"};
}

bool knows(algorithm which, operation op) {
  if (which == algorithm::automatic) return !is_point_to_point(op);
  const auto* found = find(which);
  return found != nullptr && find(*found, op) != nullptr;
}

algorithm choose_algorithm(const collective_shape& what) {
  const auto bytes = what.parts.total() * what.element_bytes;
  const auto n = what.members;
  const bool is_small = bytes <= 2 << 10 || what.parts.total() < std::bit_floor(n);
  switch (what.op) {
    case broadcast:
      if (n < 8 || bytes < 12 << 10) return algorithm::binomial;
      return bytes < 512 << 10 && is_power_of_two(n) ? algorithm::halving_doubling
                                                     : algorithm::ring;
    case all_reduce:
      return is_small ? algorithm::recursive_doubling : algorithm::halving_doubling;
    case reduce:
      return is_small ? algorithm::binomial : algorithm::halving_doubling;
    case all_gather:
      if (is_power_of_two(n) && bytes < 512 << 10) return algorithm::recursive_doubling;
      return bytes < 80 << 10 ? algorithm::bruck : algorithm::ring;
    case reduce_scatter:
      return bytes < 512 << 10 ? algorithm::halving_doubling : algorithm::pairwise;
    case all_to_all:
      return choose_all_to_all(what);
    case gather:
    case scatter:
      return what.parts.is_even() ? algorithm::binomial : algorithm::linear;
    case barrier:
    case send:
    case recv:
      break;
  }
  return algorithm::dissemination;
}

result<void> write_program(const collective_shape& what, std::uint32_t self,
                           const schedule_options& options, transfer_program& to) {
  TROUPE_ASSERT(self < what.members && what.root < what.members && !is_point_to_point(what.op),
                self, what.root, what.members, to_string(what.op));
  TROUPE_ASSERT(what.parts.parts() == what.members
                    && (what.op != all_to_all || what.incoming.parts() == what.members),
                what.parts.parts(), what.incoming.parts(), what.members);
  to.clear(what.element_bytes);
  if (what.members > collective_members_max)
    return error{errc::no_resources,
                 "a collective has at most " + std::to_string(collective_members_max) + " members"};
  const auto& used =
      *find(options.how == algorithm::automatic ? choose_algorithm(what) : options.how);
  const auto* how = find(used, what.op);
  if (how == nullptr) return unknown(used, what.op);
  if (used.which == algorithm::bruck && what.op == all_to_all
      && !(what.parts.is_uniform() && what.incoming.is_uniform()))
    return error{errc::usage, "bruck knows an all_to_all only of equal parts"};
  round_writer rounds(what, self, how->first == from::root ? what.root : 0, to);
  return how->write(rounds, options);
}

result<std::string> describe_choice(const collective_shape& what, const schedule_options& options) {
  const auto used = options.how == algorithm::automatic ? choose_algorithm(what) : options.how;
  if (used != algorithm::nccl || what.members == 1) return std::string(to_string(used));
  const auto asked = asked_of_nccl(what);
  if (!is_nccl_function(asked.op)) return std::string(to_string(algorithm::linear));
  const auto alone = host_layout::consecutive(options.hosts != nullptr ? 1 : what.members, 1);
  TROUPE_TRY(plan, make_nccl_plan(asked, hosts_of(options, alone), options.nccl));
  const auto channels = plan.parts.size();
  return std::string(to_string(plan.how)) + ", " + to_string(plan.protocol) + ", "
         + std::to_string(channels) + (channels == 1 ? " channel" : " channels");
}

std::uint32_t lanes_of(const schedule_options& options) {
  if (options.how == algorithm::nccl)
    return options.hosts != nullptr ? channel_count(options.nccl, *options.hosts)
                                    : channel_count(options.nccl, host_layout::consecutive(1, 1));
  return options.how == algorithm::double_tree ? 2 : 1;
}

}  // namespace troupe
