#include "graph/workload/llm_step.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "graph/node_check.hpp"
#include "tests/unit/graph/graph_executor.hpp"
#include "tests/unit/graph/llm_sample.hpp"

namespace troupe::workload {
namespace {

using Catch::Matchers::Contains;

// Every node is one that a trace holds, every call meets, every rank ends.
void check_sound(const generated& all) {
  for (std::uint32_t rank = 0; rank < all.graph.world; ++rank) {
    node_check check(rank_id{rank}, all.graph.communicators,
                     static_cast<std::uint32_t>(all.graph.call_sites.size()));
    const auto& nodes = all.graph.ranks[rank];
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (const auto wrong = check.wrong_shape(nodes[at]); !wrong.empty()) FAIL_CHECK(wrong);
      if (!nodes[at].after.empty() && nodes[at].after.back() > at) FAIL_CHECK("before the first");
    }
  }
  const auto run = execute(all.graph);
  INFO((run.wrong.empty() ? "" : run.wrong.front()));
  CHECK(run.wrong.empty());
}

std::uint64_t count(const std::vector<node>& nodes, operation op, const execution_graph& of,
                    const std::string& group) {
  std::uint64_t found = 0;
  for (const auto& each : nodes)
    found += communicates(each.kind) && each.op == op
             && of.communicators[each.communicator].name.starts_with(group + " ");
  return found;
}

TEST_CASE("steps of every layout of dense models run to their end") {
  for (std::uint64_t tp : {1, 2, 4})
    for (std::uint64_t pp : {1, 2, 3, 4})
      for (std::uint64_t dp : {1, 2, 3})
        for (int variant = 0; variant < 4; ++variant) {
          auto options = options_of(small_model(), {tp, pp, dp});
          options.sequence_parallel = variant & 1;
          options.shard_optimizer = variant & 2;
          options.model.tied_embeddings = variant == 1 || variant == 2;
          options.bucket_bytes = variant < 2 ? 30'000 : 160'000'000;
          options.steps = variant == 3 ? 3 : 1;
          options.micro_batches = 1 + 2 * static_cast<std::uint64_t>(variant);
          INFO("tp " << tp << " pp " << pp << " dp " << dp << " variant " << variant);
          check_sound(generate(options));
        }
}

TEST_CASE("interleaved steps run to their end") {
  for (std::uint64_t pp : {2, 3, 4})
    for (std::uint64_t chunks : {2, 3})
      for (std::uint64_t rounds : {1, 2, 4}) {
        auto options = options_of(small_model(13), {2, pp, 2});
        options.schedule = schedule_kind::interleaved;
        options.virtual_stages = chunks;
        options.micro_batches = rounds * pp;
        options.steps = 2;
        options.model.tied_embeddings = rounds == 2;
        INFO("pp " << pp << " chunks " << chunks << " rounds " << rounds);
        check_sound(generate(options));
      }
}

TEST_CASE("steps of every layout of experts run to their end") {
  struct layout_case {
    std::uint64_t tp, pp, dp, ep, expert_tp;
  };
  for (const auto& [tp, pp, dp, ep, expert_tp] :
       {layout_case{1, 1, 4, 4, 1}, layout_case{1, 2, 4, 2, 1}, layout_case{2, 1, 4, 4, 2},
        layout_case{2, 2, 2, 4, 1}, layout_case{4, 1, 2, 4, 2}, layout_case{2, 3, 4, 2, 2},
        layout_case{2, 1, 2, 1, 2}, layout_case{1, 1, 1, 1, 1}, layout_case{4, 2, 2, 8, 1}})
    for (int variant = 0; variant < 4; ++variant) {
      auto options = options_of(small_moe(), {tp, pp, dp, ep, expert_tp});
      options.sequence_parallel = true;
      options.shard_optimizer = variant & 1;
      options.imbalance = variant & 2 && ep > 1 ? 1.6 : 1;
      options.model.moe_every = 1 + static_cast<std::uint64_t>(variant & 1);
      options.model.moe_first = static_cast<std::uint64_t>(variant & 1);
      options.steps = 2;
      INFO("tp " << tp << " pp " << pp << " dp " << dp << " ep " << ep << " expert-tp " << expert_tp
                 << " variant " << variant);
      check_sound(generate(options));
    }
}

TEST_CASE("tensor parallelism sums what it should, as often as it should") {
  auto options = options_of(small_model(4), {2, 1, 1});
  const auto plain = generate(options);
  const auto& nodes = plain.graph.ranks[1];
  // 4 layers × (2 forward + 2 backward) + embedding + output layer, of tokens × hidden × bf16;
  // 3 of the loss, a number a token; for each of 4 micro-batches.
  std::map<std::uint64_t, int> sizes;
  for (const auto& each : nodes)
    if (each.op == operation::all_reduce && each.kind == node_kind::collective) ++sizes[each.size];
  const std::map<std::uint64_t, int> expected = {{32 * 64 * 2, 4 * 18}, {32 * 4, 4 * 3}, {4, 1}};
  CHECK(sizes == expected);
  options.sequence_parallel = true;
  const auto split = generate(options);
  const auto& own = split.graph.ranks[1];
  sizes.clear();
  for (const auto& each : own)
    if (each.op == operation::all_gather) ++sizes[each.size];
  // 2 forward, 2 · 2 backward a layer; output layer forward and backward; embedding backward
  CHECK(sizes == std::map<std::uint64_t, int>{{16 * 64 * 2, 4 * (4 * 6 + 3)}});
  sizes.clear();
  for (const auto& each : own)
    if (each.op == operation::reduce_scatter) ++sizes[each.size];
  CHECK(sizes == std::map<std::uint64_t, int>{{32 * 64 * 2, 4 * 18}});
}

TEST_CASE("stages send each micro-batch once each way") {
  const auto all = generate(options_of(small_model(), {2, 4, 2}));
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    const auto& nodes = all.graph.ranks[rank];
    const auto stage = rank / 4;
    CHECK(count(nodes, operation::send, all.graph, "pp_forward") == (stage < 3 ? 4 : 0));
    CHECK(count(nodes, operation::recv, all.graph, "pp_forward") == (stage > 0 ? 4 : 0));
    CHECK(count(nodes, operation::send, all.graph, "pp_backward") == (stage > 0 ? 4 : 0));
    CHECK(count(nodes, operation::recv, all.graph, "pp_backward") == (stage < 3 ? 4 : 0));
    for (const auto& each : nodes)
      if (each.kind == node_kind::send) CHECK(each.size == 32 * 64 * 2);
  }
}

TEST_CASE("experts exchange the tokens that the router gives them") {
  auto options = options_of(small_moe(2), {1, 1, 4, 4, 1});
  const auto even = generate(options);
  for (const auto& nodes : even.graph.ranks) {
    std::uint64_t calls = 0;
    for (const auto& each : nodes)
      if (each.op == operation::all_to_all && each.kind == node_kind::collective) {
        ++calls;
        CHECK(each.size == 32 * 2 * 64 * 2);  // tokens × top_k × hidden × bf16
      }
    CHECK(calls == 2 * 4 * 4);  // layers × micro-batches × (dispatch, combine; and back)
  }
  options.imbalance = 2.5;
  const auto uneven = generate(options);
  std::map<std::uint64_t, std::vector<std::uint64_t>> sizes;  // by sequence
  for (const auto& nodes : uneven.graph.ranks)
    for (const auto& each : nodes)
      if (each.op == operation::all_to_all && each.kind == node_kind::collective)
        sizes[each.sequence].push_back(each.size);
  std::set<std::vector<std::uint64_t>> draws;
  for (const auto& [sequence, members] : sizes) {
    std::uint64_t sum = 0;
    for (auto each : members) sum += each;
    CHECK(sum == 4 * 8192);   // none is lost
    if (sequence % 2 == 0) {  // what experts give back, or the gradients of what they got
      CHECK(*std::max_element(members.begin(), members.end()) == 20480);
      draws.insert(members);
    } else {
      CHECK(members == std::vector<std::uint64_t>(4, 8192));
    }
  }
  CHECK(draws.size() > 1);
  options.seed = 2;
  CHECK(structural_digest(generate(options).graph) != structural_digest(uneven.graph));
}

TEST_CASE("gradients are reduced in buckets that hold each parameter once") {
  for (const bool shards : {false, true}) {
    auto options = options_of(small_model(4), {1, 1, 3});
    options.shard_optimizer = shards;
    options.bucket_bytes = 100'000;
    const auto all = generate(options);
    const auto parameters = workload::parameters(options.model).total();
    CHECK(all.summary.stages.at(0).parameters == parameters);
    std::uint64_t bytes = 0, gathered = 0, calls = 0;
    bool before_end = false, over = false;
    for (const auto& each : all.graph.ranks[2]) {
      over = over || (each.kind == node_kind::marker && each.marker == marker_kind::backward_end);
      if (each.kind != node_kind::collective || each.size == 4) continue;
      if (each.op == operation::all_gather) gathered += each.size;
      if (each.op != (shards ? operation::reduce_scatter : operation::all_reduce)) continue;
      bytes += each.size;
      ++calls;
      CHECK_FALSE(over);
      before_end = true;
      CHECK(each.type == element_type::f32);
    }
    CHECK(before_end);
    CHECK(calls > 4);
    CHECK(bytes >= 4 * parameters);
    CHECK(bytes <= 4 * (parameters + (shards ? 3 * calls : 0)));
    CHECK(gathered == (shards ? bytes / 4 / 3 * 2 : 0));
  }
}

TEST_CASE("of a last micro-batch's backward the first bucket leaves before the end") {
  auto options = options_of(small_model(4), {1, 1, 2});
  options.bucket_bytes = 1;
  const auto all = generate(options);
  const auto& nodes = all.graph.ranks[0];
  std::size_t first = 0, last_compute = 0;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (first == 0 && nodes[at].kind == node_kind::collective) first = at;
    if (nodes[at].call_site != 0 && nodes[at].duration_ns > 0
        && all.graph.call_sites[nodes[at].call_site] == "attention, backward")
      last_compute = at;
  }
  CHECK(first > 0);
  CHECK(first + 5 < last_compute);
  for (auto at = first + 1; at <= last_compute; ++at)  // and nothing waits for it
    if (nodes[at].kind == node_kind::compute)
      for (auto distance : nodes[at].after)
        CHECK(nodes[at - distance].kind != node_kind::collective);
}

TEST_CASE("a step's operations are six a parameter and token, about") {
  for (const auto& known : known_models()) {
    auto options = options_of(known, {});
    options.model.sequence = 2048;
    options.layout.expert_tp = 0;
    options.micro_batches = 1;
    const auto all = generate(options);
    const double expected = 6.0 * static_cast<double>(active_parameters(options.model)) * 2048;
    INFO(known.name << ": " << all.summary.flops << " of " << expected);
    CHECK(all.summary.flops == Approx(expected).epsilon(0.10));  // attention, less the embedding
  }
}

TEST_CASE("a step's operations are the same however it is spread") {
  auto options = options_of(small_model(), {});
  options.micro_batches = 8;
  options.model.vocabulary = 128;
  const auto flops = generate(options).summary.flops;
  const auto& m = options.model;
  const double a_token = 6.0 * (m.layers * (64 * (64 + 2 * 32) + 64 * 64 + 3 * 64 * 96) + 64 * 128)
                         + 6.0 * m.layers * 32 * 64;
  CHECK(flops == Approx(a_token * 32 * 8));
  options.layout = {4, 2, 1};
  options.layout.expert_tp = 0;
  CHECK(generate(options).summary.flops == Approx(flops));
  options.layout = {2, 2, 2, 1, 0};
  options.micro_batches = 4;
  CHECK(generate(options).summary.flops == Approx(flops));
}

TEST_CASE("without messages' time a pipeline idles as its schedule says") {
  for (std::uint64_t chunks : {1, 2, 4}) {
    auto model = small_model(16);
    model.vocabulary = 1;
    auto options = options_of(model, {1, 4, 1});
    options.micro_batches = 12;
    options.virtual_stages = chunks;
    if (chunks > 1) options.schedule = schedule_kind::interleaved;
    auto all = generate(options);
    std::uint64_t busy = 0;
    for (auto& nodes : all.graph.ranks)
      for (auto& each : nodes) {
        const auto& site = all.graph.call_sites[each.call_site];
        if (!site.starts_with("attention") && !site.starts_with("feed-forward"))
          each.duration_ns = 0;  // layers are all there is
        busy += each.duration_ns;
      }
    const double a_stage = static_cast<double>(busy) / 4;
    const double ideal = 3.0 / 12 / static_cast<double>(chunks);  // (p - 1) / m / v
    INFO("chunks " << chunks);
    CHECK(static_cast<double>(execute(all.graph).finish_ns) / a_stage - 1 == Approx(ideal));
  }
}

TEST_CASE("the heaviest stage is told, and no mean of them") {
  auto options = options_of(small_model(), {2, 4, 1});
  options.layers_per_stage = {1, 2, 2, 3};
  const auto all = generate(options);
  const auto of_layer = (64 * (32 + 2 * 16) + 32 * 64 + 3 * 64 * 48) + 2 * 64;
  CHECK(all.summary.stages.at(0).layers == 1);
  CHECK(all.summary.stages.at(0).parameters == of_layer + 50 * 64);
  CHECK(all.summary.stages.at(1).parameters == 2 * of_layer);
  CHECK(all.summary.stages.at(3).parameters == 3 * of_layer + 64 + 50 * 64);
  CHECK(all.summary.stages.at(3).compute_ns > all.summary.stages.at(1).compute_ns);
}

TEST_CASE("experts are divided by ep and by their own tensor parallelism") {
  auto options = options_of(small_moe(4), {2, 1, 4, 4, 1});
  options.sequence_parallel = true;
  const auto own = generate(options).summary.stages.at(0).parameters;
  const auto dense = 4 * (64 * (32 + 2 * 16) + 32 * 64 + 64 * 8 + 2 * 64) + 64 + 2 * 50 * 64;
  CHECK(own == dense + 4 * 2 * 3 * 64 * 96);
  options.layout.expert_tp = 2;
  CHECK(generate(options).summary.stages.at(0).parameters == dense + 4 * 2 * 3 * 64 * 48);
}

TEST_CASE("steps repeat themselves, with sequences that go on") {
  auto options = options_of(small_model(4), {2, 2, 2});
  const auto one = generate(options);
  options.steps = 3;
  const auto three = generate(options);
  const auto a_step = one.graph.ranks[5].size() - 2;
  REQUIRE(three.graph.ranks[5].size() == 3 * a_step + 2);
  for (std::size_t at = 1; at <= a_step; ++at) {
    auto later = three.graph.ranks[5][at + 2 * a_step];
    const auto& first = one.graph.ranks[5][at];
    CHECK(later.after == first.after);
    CHECK(later.duration_ns == first.duration_ns);
    if (communicates(first.kind)) CHECK(later.sequence > first.sequence);
  }
}

TEST_CASE("what does not fit together is refused with the numbers") {
  auto dense = options_of(small_model(), {2, 2, 2});
  const auto refused = [](llm_options options, auto change) {
    change(options);
    return refusal(options);
  };
  CHECK_THAT(refused(dense, [](auto& o) { o.layout.tp = o.layout.expert_tp = 3; }),
             Contains("8 heads") && Contains("tp 3"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layout.pp = 9; }), Contains("8 layers are fewer"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layout.ep = 2; }), Contains("without experts"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layout.dp = 1 << 20; }), Contains("1048576"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layout.dp = 0; }), Contains("dp 0"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layers_per_stage = {1, 2}; }), Contains("add up to 3"));
  CHECK_THAT(refused(dense, [](auto& o) { o.layers_per_stage = {8}; }), Contains("1 numbers"));
  CHECK_THAT(refused(dense, [](auto& o) { o.virtual_stages = 2; }), Contains("interleaved"));
  CHECK_THAT(refused(dense, [](auto& o) { o.micro_batches = 1 << 20; }), Contains("nodes a rank"));
  CHECK_THAT(refused(dense, [](auto& o) { o.imbalance = 2; }), Contains("without experts"));
  CHECK_THAT(refused(dense, [](auto& o) { o.model.ffn = 97; }), Contains("ffn 97"));
  CHECK_THAT(refused(dense, [](auto& o) { o.micro_batch = 1ull << 50; }), Contains("tokens"));
  const auto interleaved = [](auto& o) {
    o.schedule = schedule_kind::interleaved;
    o.virtual_stages = 2;
    o.micro_batches = 3;
  };
  CHECK_THAT(refused(dense, interleaved), Contains("3, to be a multiple of pp, 2"));
  auto experts = options_of(small_moe(), {2, 1, 4, 4, 1});
  CHECK_THAT(refusal(experts), Contains("need sequence-parallel"));
  experts.sequence_parallel = true;
  CHECK(refusal(experts).empty());
  CHECK_THAT(refused(experts, [](auto& o) { o.layout.ep = 3; }),
             Contains("does not divide the ranks"));
  CHECK_THAT(refused(experts, [](auto& o) { o.model.experts = 6; }), Contains("6 experts"));
  CHECK_THAT(refused(experts, [](auto& o) { o.imbalance = 4.5; }), Contains("1 to ep, 4"));
  CHECK_THAT(refused(experts, [](auto& o) { o.model.top_k = 9; }), Contains("top-k 9"));
}

}  // namespace
}  // namespace troupe::workload
