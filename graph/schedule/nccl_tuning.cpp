// nccl_tuning: NCCL's estimate of an algorithm's time (nccl_plan.hpp), its constants and formulas.
//
// Source: NCCL 2.28, src/graph/tuning.cc: ncclTopoTuneModel, ncclTopoGetAlgoTime. Times are in µs,
// bandwidths in GB/s; hosts' processors are taken as Intel's.
#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/schedule/nccl_plan.hpp"

namespace troupe {
namespace {

constexpr int tree = 0, ring = 1;
enum link { inside, between };

// [algorithm][protocol]
constexpr double base_latency[2][3] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
// [link][algorithm][protocol]: NVLink, network.
constexpr double link_latency[2][2][3] = {{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}},
                                          {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}}};
// [generation][hosts: 1, 2, more]; of LL by generation on one host, else by the processor (row 0).
constexpr double ll_most[4][3] = {
    {39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}};
constexpr double ring_ll128_most[4] = {20.0, 20.0, 36.7, 40.0};
constexpr double tree_ll128_most[4][3] = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}};
constexpr double tree_most[4][3] = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}};
// [protocol][log2 of bytes / 64]: what a tree reaches of its bandwidth.
constexpr double tree_correction[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};
constexpr double network_overhead = 1.0, volta_plateau = 1.9, plateau = 1.4;

struct question {
  nccl_function function;
  int how;
  nccl_protocol protocol;
  double members, hosts, searched;  // searched: channels before each was doubled
  std::size_t generation, host_class;
  bool is_all_reduce() const { return function == nccl_function::all_reduce; }
  bool has_root() const {
    return function == nccl_function::broadcast || function == nccl_function::reduce;
  }
  double steps() const {
    return is_all_reduce() ? 2 * (members - 1) : has_root() ? members : members - 1;
  }
  std::size_t p() const { return static_cast<std::size_t>(protocol); }
};

double bandwidth(const question& of, const nccl_settings& settings) {
  const double link = of.hosts <= 2 ? settings.inside_gb : settings.between_gb;
  const auto most = [&](double a_channel) { return of.searched * a_channel; };
  const double ll = ll_most[of.hosts == 1 ? of.generation : 0][of.host_class];
  double bus = of.searched * link;
  if (of.how == ring) {
    if (of.protocol == nccl_protocol::ll) bus = std::min(ll, bus * .5);
    if (of.protocol == nccl_protocol::ll128)
      bus = std::min(bus * .92, most(ring_ll128_most[of.generation]));
    return bus * of.members / of.steps();
  }
  bus = std::min(bus * .92, most(tree_most[of.generation][of.host_class]));
  if (of.protocol == nccl_protocol::ll) bus = std::min(bus / 3.8, ll);
  if (of.protocol == nccl_protocol::ll128)
    bus = std::min(bus * (of.hosts == 1 ? 7.0 / 9 : 120.0 / 128),
                   most(tree_ll128_most[of.generation][of.host_class]));
  if (of.members == of.hosts) bus *= .85;  // one device a host: a plain tree
  return bus * .5;
}

double latency(const question& of) {
  const bool is_simple = of.protocol == nccl_protocol::simple;
  const auto base = base_latency[of.how][of.p()];
  auto near = link_latency[inside][of.how][of.p()];
  const auto far = link_latency[between][of.members == of.hosts ? tree : of.how][of.p()];
  if (of.how == tree)
    return base
           + 2
                 * ((std::floor(of.members / of.hosts) - 1) * near
                    + (std::bit_width(static_cast<std::uint32_t>(of.hosts)) - 1) * far);
  if (of.has_root()) {
    const auto link = of.hosts == 1 ? inside : between;
    if (of.hosts == 1) return base + link_latency[link][ring][of.p()];  // all rings are the same
    return base + of.steps() * link_latency[link][is_simple ? tree : ring][of.p()];
  }
  if (of.hosts > 1) near = std::max(near, is_simple ? 3 * network_overhead : network_overhead);
  const auto far_steps = of.hosts == 1 ? 0 : (of.is_all_reduce() ? 2 : 1) * (of.hosts - 1);
  return base + (of.steps() - far_steps) * near + far_steps * far;
}

}  // namespace

nccl_estimate estimate(nccl_function function, nccl_algorithm how, nccl_protocol protocol,
                       std::uint64_t bytes, const host_layout& hosts,
                       const nccl_settings& settings) {
  const bool is_tree = how == nccl_algorithm::tree;
  if (!(is_tree && function == nccl_function::all_reduce) && how != nccl_algorithm::ring) return {};
  if (!settings.algorithms[function][how] || !settings.protocols[function][protocol]) return {};
  const auto channels = channel_count(settings, hosts);
  const question of{function,
                    is_tree ? tree : ring,
                    protocol,
                    static_cast<double>(hosts.members()),
                    static_cast<double>(hosts.hosts()),
                    std::max(1.0, channels / 2.0),
                    static_cast<std::size_t>(settings.generation),
                    std::min<std::size_t>(hosts.hosts(), 3) - 1};
  auto gb = bandwidth(of, settings);
  auto us = latency(of);
  const auto size = static_cast<std::size_t>(std::bit_width(bytes >> 6));  // log2, plus one
  if (is_tree && size > 0 && size <= 23) gb *= tree_correction[of.p()][size - 1];
  if (!is_tree && protocol == nccl_protocol::simple && of.hosts > 1 && of.is_all_reduce()
      && bytes / (std::uint64_t{channels} * hosts.members()) >= 64)
    us *= settings.generation == nccl_generation::volta ? volta_plateau : plateau;
  return {true, us + static_cast<double>(bytes) / (1000 * gb)};
}

}  // namespace troupe
