#include "graph/schedule/nccl_plan.hpp"

#include <algorithm>
#include <bit>

#include "messages/assert.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t steps = 8;                             // NCCL_STEPS
constexpr std::uint64_t least_traffic = 32 << 10;              // of a channel
constexpr std::uint64_t ll128_line = 1920, ll128_wire = 2048;  // of a warp: 240 of 256 words

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }
std::uint64_t align_up(std::uint64_t value, std::uint64_t to) { return divide_up(value, to) * to; }

std::uint64_t grain_bytes(nccl_protocol protocol) {
  return protocol == nccl_protocol::ll ? 16 : protocol == nccl_protocol::ll128 ? ll128_line : 512;
}

/// Threads of a channel, and bytes for each below which there are fewer channels.
std::uint64_t threads(nccl_protocol protocol) {
  return protocol == nccl_protocol::ll128 ? 640 : 512;
}
std::uint64_t thread_threshold(nccl_algorithm how, nccl_protocol protocol, std::uint32_t members) {
  if (protocol == nccl_protocol::simple) return 64;
  return how == nccl_algorithm::ring && protocol == nccl_protocol::ll ? 8 * members : 8;
}

/// Of a collective by itself: how many times its bytes cross a channel's links.
std::uint64_t traffic_per_byte(nccl_function function, std::uint32_t members) {
  switch (function) {
    case nccl_function::all_reduce:
      return 2;
    case nccl_function::all_gather:
    case nccl_function::reduce_scatter:
      return members;
    default:
      return 1;
  }
}

bool is_by_parts(nccl_function function) {
  return function == nccl_function::all_gather || function == nccl_function::reduce_scatter;
}

/// Bytes that a chunk of one channel has, which gets `bytes` of the collective.
std::uint64_t chunk_bytes(const nccl_plan& plan, nccl_function function, std::uint64_t bytes,
                          const host_layout& hosts, const nccl_settings& settings) {
  const auto step = settings.buffer_bytes[plan.protocol] / steps;
  const bool is_ring = plan.how == nccl_algorithm::ring;
  const bool has_root = !is_by_parts(function) && function != nccl_function::all_reduce;
  const bool is_simple = plan.protocol == nccl_protocol::simple;
  auto chunk = step * (is_simple && is_ring && !has_root ? steps / 2 : 1);
  if (plan.protocol == nccl_protocol::ll) chunk /= 2;
  if (plan.protocol == nccl_protocol::ll128) chunk = chunk / 16 * 15;
  if (!is_ring && plan.protocol == nccl_protocol::ll128) {
    const double a_host = static_cast<double>(hosts.members()) / hosts.hosts();
    const double depth = 1 + (std::bit_width(hosts.hosts()) - 1) + 0.1 * a_host;
    const auto is_short = [&](double factor, std::uint64_t least) {
      return static_cast<double>(bytes / chunk) < depth * factor / a_host && chunk > least;
    };
    while (is_short(64, 131072)) chunk /= 2;
    while (is_short(16, 32768)) chunk /= 2;
  }
  const auto grain = grain_bytes(plan.protocol);
  return std::max(chunk / grain, std::uint64_t{1}) * grain;
}

/// Cells of `cell` elements to channels: the first, some in the middle, the last.
struct cells {
  std::uint64_t first = 0, middle_channels = 0, middle = 0, last = 0;
};

cells share(std::uint64_t all, std::uint64_t a_channel, std::uint64_t channels) {
  cells shared;
  a_channel = std::min(all, a_channel);
  shared.first = channels == 1 ? all : a_channel;
  const auto rest = all - shared.first;
  shared.middle_channels = rest / a_channel;
  shared.last = rest % a_channel;
  if (channels < 1 + shared.middle_channels + (shared.last > 0 ? 1 : 0)) {
    shared.middle_channels = channels - 2;
    a_channel = rest / (shared.middle_channels + 1);
    shared.last = a_channel + rest % (shared.middle_channels + 1);
  }
  if (shared.last == 0 && shared.middle_channels > 0) {
    shared.last = a_channel;
    --shared.middle_channels;
  }
  shared.middle = a_channel;
  return shared;
}

/// As for a launch of this collective alone: `count` elements, of all_gather and reduce_scatter a
/// member's.
void add_parts(nccl_plan& plan, nccl_function function, const collective_shape& what,
               std::uint64_t count, const host_layout& hosts, const nccl_settings& settings) {
  const auto members = what.members;
  const std::uint64_t element = what.element_bytes;
  const auto all_channels = channel_count(settings, hosts);
  const auto whole = is_by_parts(function) ? std::uint64_t{members} : 1;
  const auto all_bytes = count * element * whole;
  std::uint64_t used = all_channels;
  const auto worth = threads(plan.protocol) * thread_threshold(plan.how, plan.protocol, members);
  while (used > 1 && all_bytes < used * worth) --used;
  auto traffic = traffic_per_byte(function, members);
  const auto a_channel = align_up(std::max(least_traffic, count * element * traffic) / used, 16);
  if (plan.protocol == nccl_protocol::ll) traffic *= 4;
  const auto cell_bytes = align_up(divide_up(least_traffic, traffic), 16);
  const auto cell = cell_bytes / element;
  const auto cell_count = divide_up(count * element, cell_bytes);
  const auto shared = share(cell_count, divide_up(a_channel, cell_bytes * traffic), all_channels);
  const auto surplus = cell_count * cell - count;
  const auto add = [&](std::uint64_t elements) {
    const auto begin = plan.parts.empty() ? 0 : plan.parts.back().begin + plan.parts.back().count;
    const auto bytes = chunk_bytes(plan, function, elements * element * whole, hosts, settings);
    plan.parts.push_back(
        {static_cast<std::uint32_t>(plan.parts.size()), begin, elements,
         bytes / grain_bytes(plan.protocol) * (grain_bytes(plan.protocol) / element)});
  };
  add(shared.first * cell - (shared.last == 0 ? surplus : 0));
  for (std::uint64_t i = 0; i < shared.middle_channels; ++i) add(shared.middle * cell);
  if (shared.last > 0) add(shared.last * cell - surplus);
}

}  // namespace

bool is_nccl_function(operation op) {
  return op == operation::all_reduce || op == operation::broadcast || op == operation::reduce
         || op == operation::all_gather || op == operation::reduce_scatter;
}

nccl_function function_of(operation op) {
  TROUPE_ASSERT(is_nccl_function(op), to_string(op));
  return op == operation::all_reduce   ? nccl_function::all_reduce
         : op == operation::broadcast  ? nccl_function::broadcast
         : op == operation::reduce     ? nccl_function::reduce
         : op == operation::all_gather ? nccl_function::all_gather
                                       : nccl_function::reduce_scatter;
}

// Maximum, then minimum: further channels repeat the first ones.
std::uint32_t channel_count(const nccl_settings& settings, const host_layout& hosts) {
  const auto found = settings.channels > 0 ? settings.channels : 2 * hosts.largest();
  return std::max(std::min({found, settings.channels_max, 64u}), settings.channels_min);
}

nccl_channel channel_at(std::uint32_t channel, const nccl_settings& settings,
                        const host_layout& hosts) {
  const auto found = std::min(settings.channels > 0 ? settings.channels : 2 * hosts.largest(), 64u);
  const auto kept = std::min(found, settings.channels_max);
  const auto original = channel % kept, half = std::max(found / 2, 1u);
  return {original % half, original < half ? 0 : 1};
}

std::uint64_t wire_bytes(nccl_protocol protocol, std::uint64_t bytes) {
  switch (protocol) {
    case nccl_protocol::ll:
      return divide_up(bytes, 8) * 16;
    case nccl_protocol::ll128:
      return divide_up(bytes, ll128_line) * ll128_wire;
    case nccl_protocol::simple:
      break;
  }
  return bytes;
}

std::uint64_t steps_of(const nccl_plan& plan, const collective_shape& what) {
  const auto function = function_of(what.op);
  const bool is_in_loops =
      function == nccl_function::all_reduce && plan.how == nccl_algorithm::ring;
  const std::uint64_t a_loop = is_in_loops || is_by_parts(function) ? 2 * what.members : 2;
  std::uint64_t sum = 0;
  for (const auto& part : plan.parts)
    sum += (part.count / part.chunk / (is_in_loops ? what.members : 1) + 1) * a_loop;
  return sum;
}

result<nccl_plan> make_nccl_plan(const collective_shape& what, const host_layout& hosts,
                                 const nccl_settings& settings) {
  const auto function = function_of(what.op);
  const bool by_parts = is_by_parts(function);
  if (by_parts && !what.parts.is_uniform())
    return error{errc::usage,
                 std::string("nccl knows ") + to_string(what.op) + " only of equal parts"};
  if (what.element_bytes > 16 || !std::has_single_bit(what.element_bytes))
    return error{errc::usage, "nccl knows no elements of " + std::to_string(what.element_bytes)
                                  + " bytes (1, 2, 4, 8 and 16)"};
  const auto bytes = what.parts.total() * what.element_bytes;
  nccl_plan plan;
  bool is_possible = false;
  double least = 0;
  for (const auto how : {nccl_algorithm::tree, nccl_algorithm::ring})
    for (const auto protocol : {nccl_protocol::ll, nccl_protocol::ll128, nccl_protocol::simple}) {
      const auto guess = estimate(function, how, protocol, bytes, hosts, settings);
      if (!guess.is_possible || (is_possible && guess.us >= least)) continue;
      is_possible = true;
      least = guess.us;
      plan.how = how;
      plan.protocol = protocol;
    }
  if (!is_possible)
    return error{errc::usage, std::string("nccl: NCCL_ALGO and NCCL_PROTO leave nothing for ")
                                  + to_string(function)
                                  + " (ring, and of AllReduce tree, are known)"};
  const auto count = by_parts ? what.parts.count(0) : what.parts.total();
  if (count > 0) add_parts(plan, function, what, count, hosts, settings);
  return plan;
}

}  // namespace troupe
