#include "messages/collective.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace troupe {

namespace {

constexpr const char* operation_names[] = {"all_reduce",     "broadcast",  "reduce", "all_gather",
                                           "reduce_scatter", "all_to_all", "gather", "scatter",
                                           "barrier",        "send",       "recv"};
constexpr const char* type_names[] = {"f64",    "f32",    "f16", "bf16",    "i64", "i32",
                                      "i16",    "i8",     "u8",  "boolean", "c64", "c128",
                                      "f8e4m3", "f8e5m2", "u32", "u64"};
constexpr std::uint32_t type_sizes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 8, 16, 1, 1, 4, 8};
constexpr const char* reduction_names[] = {"none", "sum",  "prod", "min", "max",
                                           "avg",  "band", "bor",  "bxor"};
constexpr const char* semantics_names[] = {"gloo", "nccl", "mpi"};
static_assert(std::size(operation_names) == operation_count);
static_assert(std::size(type_names) == element_type_count);
static_assert(std::size(type_sizes) == element_type_count);
static_assert(std::size(reduction_names) == reduction_count);

template <std::size_t N, class Enum>
const char* name_in(const char* const (&names)[N], Enum value) {
  auto number = static_cast<std::size_t>(value);
  return number < N ? names[number] : "unknown";
}

bool is_float(element_type type) {
  return type == element_type::f64 || type == element_type::f32 || type == element_type::f16
         || type == element_type::bf16 || type == element_type::f8e4m3
         || type == element_type::f8e5m2;
}

bool is_complex(element_type type) {
  return type == element_type::c64 || type == element_type::c128;
}

bool has_root(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

/// The sum, or nothing that a machine can hold.
bool add_up(const std::vector<std::uint64_t>& counts, std::uint64_t& sum) {
  sum = 0;
  for (auto count : counts)
    if (__builtin_add_overflow(sum, count, &sum)) return false;
  return true;
}

std::uint64_t total(const std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (auto count : counts) sum += count;
  return sum;
}

error impossible(errc code, const collective_call& call, std::string why) {
  return {code, describe(call) + ": " + std::move(why)};
}

/// Nothing this call moves is longer than a signed 64-bit offset can say.
bool sizes_fit(const collective_call& call, std::uint32_t group_size) {
  std::uint64_t received = 0, all = 0;
  return add_up(call.recv_counts, received)
         && !__builtin_mul_overflow(std::max(call.count, received),
                                    std::uint64_t{size_of(call.type)} * group_size, &all)
         && all <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

result<void> validate_splits(const collective_call& call, std::uint32_t group_size) {
  if (call.send_counts.empty() && call.recv_counts.empty()) {
    if (call.op == operation::all_to_all && call.count % group_size != 0)
      return impossible(
          errc::mismatch, call,
          "the count is no multiple of the group's " + std::to_string(group_size) + " members");
    return {};
  }
  if (call.op != operation::all_to_all)
    return impossible(errc::bad_input, call, "only all_to_all takes splits");
  if (call.send_counts.size() != group_size || call.recv_counts.size() != group_size)
    return impossible(errc::mismatch, call,
                      std::to_string(call.send_counts.size()) + " send and "
                          + std::to_string(call.recv_counts.size())
                          + " receive splits in a group of " + std::to_string(group_size));
  std::uint64_t sum = 0;
  if (!add_up(call.send_counts, sum) || sum != call.count)
    return impossible(errc::mismatch, call, "the send splits do not add up to the count");
  return {};
}

}  // namespace

const char* to_string(operation op) { return name_in(operation_names, op); }
const char* to_string(element_type type) { return name_in(type_names, type); }
const char* to_string(reduction reduce) { return name_in(reduction_names, reduce); }
const char* to_string(semantics rules) { return name_in(semantics_names, rules); }

std::uint32_t size_of(element_type type) { return type_sizes[static_cast<std::size_t>(type)]; }

bool reduces(operation op) {
  return op == operation::all_reduce || op == operation::reduce || op == operation::reduce_scatter;
}

bool exists(reduction reduce, element_type type) {
  switch (reduce) {
    case reduction::none:
      return false;
    case reduction::sum:
    case reduction::prod:
      return true;
    case reduction::min:
    case reduction::max:
      return !is_complex(type);
    case reduction::avg:
      return type != element_type::boolean;
    case reduction::band:
    case reduction::bor:
    case reduction::bxor:
      return !is_float(type) && !is_complex(type);
  }
  return false;
}

std::uint64_t input_count(const collective_call& call, std::uint32_t group_rank,
                          std::uint32_t group_size) {
  bool is_root = static_cast<std::int64_t>(call.root) == group_rank;
  switch (call.op) {
    case operation::all_reduce:
    case operation::reduce:
    case operation::all_gather:
    case operation::gather:
    case operation::reduce_scatter:
    case operation::all_to_all:
    case operation::send:
      return call.count;
    case operation::broadcast:
      return is_root ? call.count : 0;
    case operation::scatter:
      return is_root ? call.count * group_size : 0;
    case operation::barrier:
    case operation::recv:
      return 0;
  }
  return 0;
}

std::uint64_t output_count(const collective_call& call, std::uint32_t group_rank,
                           std::uint32_t group_size) {
  bool is_root = static_cast<std::int64_t>(call.root) == group_rank;
  switch (call.op) {
    case operation::all_reduce:
    case operation::scatter:
    case operation::recv:
      return call.count;
    case operation::broadcast:
      return is_root ? 0 : call.count;
    case operation::reduce:
      return is_root ? call.count : 0;
    case operation::all_gather:
      return call.count * group_size;
    case operation::gather:
      return is_root ? call.count * group_size : 0;
    case operation::reduce_scatter:
      return call.count / group_size;
    case operation::all_to_all:
      return call.recv_counts.empty() ? call.count : total(call.recv_counts);
    case operation::barrier:
    case operation::send:
      return 0;
  }
  return 0;
}

result<void> validate(const collective_call& call, std::uint32_t group_rank,
                      std::uint32_t group_size) {
  if (group_rank >= group_size)
    return impossible(errc::bad_input, call,
                      "group rank " + std::to_string(group_rank) + " in a group of "
                          + std::to_string(group_size));
  if (!sizes_fit(call, group_size))
    return impossible(errc::bad_input, call, "more bytes than an offset can name");
  if (reduces(call.op) && !exists(call.reduce, call.type))
    return impossible(errc::bad_input, call,
                      std::string("no ") + to_string(call.reduce) + " of " + to_string(call.type));
  if (!reduces(call.op) && call.reduce != reduction::none)
    return impossible(errc::bad_input, call,
                      std::string(to_string(call.op)) + " takes no reduction");
  bool anyone = call.op == operation::recv && call.root == any_source;
  if ((has_root(call.op) || is_point_to_point(call.op)) && !anyone
      && (call.root < 0 || static_cast<std::uint32_t>(call.root) >= group_size))
    return impossible(errc::mismatch, call,
                      (has_root(call.op) ? "root " : "peer ") + std::to_string(call.root)
                          + " is outside the group of " + std::to_string(group_size));
  if (call.op == operation::barrier && call.count != 0)
    return impossible(errc::bad_input, call, "a barrier has no elements");
  if (call.op == operation::reduce_scatter && call.count % group_size != 0)
    return impossible(
        errc::mismatch, call,
        "the count is no multiple of the group's " + std::to_string(group_size) + " members");
  return validate_splits(call, group_size);
}

std::string describe(const collective_call& call) {
  std::string text = to_string(call.op);
  if (call.op == operation::barrier) return text;
  text += '(';
  if (reduces(call.op)) text += std::string(to_string(call.reduce)) + ", ";
  if (has_root(call.op)) text += "root " + std::to_string(call.root) + ", ";
  if (is_point_to_point(call.op)) {
    text += call.op == operation::send ? "to " : "from ";
    text +=
        call.op == operation::recv && call.root == any_source ? "any" : std::to_string(call.root);
    text += ", tag " + std::to_string(call.tag) + ", ";
  }
  text += std::string(to_string(call.type)) + " × " + std::to_string(call.count);
  if (!call.send_counts.empty()) text += ", with splits";
  return text + ')';
}

}  // namespace troupe
