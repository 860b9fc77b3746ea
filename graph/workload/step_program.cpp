#include "graph/workload/step_program.hpp"

#include "graph/workload/gradient_buckets.hpp"
#include "graph/workload/layer_program.hpp"
#include "graph/workload/node_emitter.hpp"

namespace troupe::workload {
namespace {

class step_builder {
 public:
  step_builder(const llm_options& options, const stage_layers& layers,
               const rank_channels& channels, const program_place& place)
      : options_(options),
        layers_(layers),
        channels_(channels),
        stage_(options.layout.stage_of(place.rank)),
        to_(options.device),
        parts_(options, place.rank, place.step, to_),
        dense_(options.bucket_bytes, size_of(options.gradient_type)),
        experts_(options.bucket_bytes, size_of(options.gradient_type)) {}

  step_program build() {
    const auto steps = pipeline_steps(options_.pipeline(), stage_);
    std::uint32_t awaited = post_recv(steps.front());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto next = i + 1 < steps.size() ? post_recv(steps[i + 1]) : 0;
      if (needs_recv(steps[i])) to_.await(awaited);
      steps[i].is_forward ? forward(steps[i]) : backward(steps[i]);
      to_.close();
      awaited = next;
    }
    finish_gradients();
    update_parameters();
    return finished();
  }

 private:
  bool is_first(const pipeline_step& step) const { return stage_ == 0 && step.chunk == 0; }
  bool is_last(const pipeline_step& step) const {
    return stage_ + 1 == layers_.stages() && step.chunk + 1 == layers_.chunks();
  }
  bool needs_recv(const pipeline_step& step) const {
    return step.is_forward ? !is_first(step) : !is_last(step);
  }

  std::uint32_t message(channel where, node_kind kind) {
    node call;
    call.kind = kind;
    call.op = kind == node_kind::send ? operation::send : operation::recv;
    call.type = options_.model.type;
    call.size = parts_.boundary_bytes();
    call.peer = channels_.peer(where, stage_);
    return to_.issue(where, std::move(call));
  }

  std::uint32_t post_recv(const pipeline_step& step) {
    if (!needs_recv(step)) return 0;
    return message(step.is_forward ? channel::forward_in : channel::backward_in, node_kind::recv);
  }

  void forward(const pipeline_step& step) {
    const auto range = layers_.of(stage_, step.chunk);
    if (is_first(step)) parts_.embedding_forward();
    for (auto layer = range.first; layer < range.first + range.count; ++layer)
      parts_.layer_forward(layer, step.micro_batch);
    if (is_last(step))
      parts_.loss_forward();
    else
      message(channel::forward_out, node_kind::send);
  }

  void backward(const pipeline_step& step) {
    const auto range = layers_.of(stage_, step.chunk);
    const bool is_final = step.micro_batch + 1 == options_.micro_batches;
    if (is_last(step)) take(parts_.loss_backward(), is_final);
    for (auto layer = range.first + range.count; layer-- > range.first;) {
      take(parts_.second_block_backward(layer, step.micro_batch), is_final);
      take(parts_.attention_backward(), is_final);
    }
    if (is_first(step)) take(parts_.embedding_backward(), is_final);
    if (!is_first(step)) message(channel::backward_out, node_kind::send);
  }

  void take(const ready_gradients& ready, bool is_final) {
    if (!is_final) return;
    reduce(channel::data, dense_.add(ready.dense));
    reduce(channel::expert_data, experts_.add(ready.experts));
  }

  std::uint64_t replicas(channel where) const {
    return where == channel::data ? options_.layout.dp : options_.layout.expert_dp();
  }
  // A shard's elements: of a bucket that is padded to a multiple of the replicas.
  std::uint64_t shard(channel where, std::uint64_t elements) const {
    return (elements + replicas(where) - 1) / replicas(where);
  }

  void reduce(channel where, std::uint64_t elements) {
    if (elements == 0 || !channels_.is_open(where, stage_)) return;
    const bool shards = options_.shard_optimizer;
    pending_.push_back(collective(where, shards ? operation::reduce_scatter : operation::all_reduce,
                                  (shards ? shard(where, elements) * replicas(where) : elements)
                                      * size_of(options_.gradient_type)));
  }

  std::uint32_t collective(channel where, operation op, std::uint64_t bytes) {
    node call;
    call.kind = node_kind::collective;
    call.op = op;
    call.type = op == operation::all_gather ? options_.model.type : options_.gradient_type;
    call.reduce = reduces(op) ? reduction::sum : reduction::none;
    call.size = bytes;
    return to_.issue(where, std::move(call));
  }

  void await_pending() {
    for (auto each : pending_) to_.await(each);
    pending_.clear();
  }

  // What tp's ranks have alike, each having seen its own tokens only.
  std::uint64_t parameters_of_norms() const {
    std::uint64_t sum = stage_ + 1 == layers_.stages() ? parts_.costs().norm_parameters() : 0;
    for (std::uint64_t chunk = 0; chunk < layers_.chunks(); ++chunk) {
      const auto range = layers_.of(stage_, chunk);
      for (auto layer = range.first; layer < range.first + range.count; ++layer)
        sum += 2 * parts_.costs().norm_parameters()
               + (options_.model.is_moe(layer) ? parts_.costs().router_parameters() : 0);
    }
    return sum;
  }

  void finish_gradients() {
    to_.enter(static_cast<std::uint32_t>(program_part::gradients));
    reduce(channel::data, dense_.close());
    reduce(channel::expert_data, experts_.close());
    await_pending();
    const auto element = size_of(options_.gradient_type);
    if (const auto norms = parameters_of_norms(); options_.splits_sequence() && norms > 0)
      to_.await(collective(channel::tensor, operation::all_reduce, norms * element));
    if (channels_.is_open(channel::embedding, stage_))
      to_.await(collective(channel::embedding, operation::all_reduce,
                           parts_.costs().word_parameters() * element));
    to_.mark(marker_kind::backward_end);
  }

  void update_parameters() {
    to_.enter(static_cast<std::uint32_t>(program_part::optimizer));
    const auto own = [&](channel where, const gradient_buckets& of) {
      if (!options_.shard_optimizer) return of.elements();
      std::uint64_t sum = 0;
      for (auto each : of.closed()) sum += shard(where, each);
      return sum;
    };
    const auto parameters = own(channel::data, dense_) + own(channel::expert_data, experts_);
    to_.run(parts_.costs().over_gradients(parameters));
    if (channels_.is_open(channel::norm, stage_)) {
      node call;
      call.kind = node_kind::collective;
      call.op = operation::all_reduce;
      call.type = element_type::f32;
      call.reduce = reduction::sum;
      call.size = size_of(element_type::f32);
      to_.await(to_.issue(channel::norm, std::move(call)));
    }
    to_.run(parts_.costs().optimizer(parameters));
    if (options_.shard_optimizer) gather_parameters();
    to_.mark(marker_kind::optimizer_step);
    to_.mark(marker_kind::iteration);
  }

  void gather_parameters() {
    for (const auto where : {channel::data, channel::expert_data}) {
      if (!channels_.is_open(where, stage_)) continue;
      for (auto elements : (where == channel::data ? dense_ : experts_).closed())
        pending_.push_back(collective(where, operation::all_gather,
                                      shard(where, elements) * size_of(options_.model.type)));
    }
    await_pending();
  }

  step_program finished() {
    step_program program;
    program.nodes = to_.take();
    for (auto& each : program.nodes)
      if (communicates(each.kind))
        each.stream = channels_.stream(static_cast<channel>(each.communicator), stage_);
    program.calls = to_.calls();
    program.flops = to_.flops();
    program.compute_ns = to_.compute_ns();
    program.parameters = dense_.elements() + experts_.elements();
    return program;
  }

  const llm_options& options_;
  const stage_layers& layers_;
  const rank_channels& channels_;
  std::uint64_t stage_;
  node_emitter to_;
  layer_program parts_;
  gradient_buckets dense_, experts_;
  std::vector<std::uint32_t> pending_;  // reductions and gathers under way
};

}  // namespace

step_program make_step_program(const llm_options& options, const stage_layers& layers,
                               const rank_channels& channels, const program_place& place) {
  return step_builder(options, layers, channels, place).build();
}

const std::vector<std::string>& step_call_sites() {
  static const std::vector<std::string> all = {"",
                                               "embedding, forward",
                                               "attention, forward",
                                               "feed-forward, forward",
                                               "experts, forward",
                                               "loss, forward",
                                               "loss, backward",
                                               "experts, backward",
                                               "feed-forward, backward",
                                               "attention, backward",
                                               "embedding, backward",
                                               "gradients",
                                               "optimizer"};
  return all;
}

}  // namespace troupe::workload
