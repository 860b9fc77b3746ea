#include "graph/workload/layer_costs.hpp"

#include <algorithm>

namespace troupe::workload {
namespace {

double number(std::uint64_t value) { return static_cast<double>(value); }

}  // namespace

layer_costs::layer_costs(const llm_options& options)
    : model_(options.model),
      tp_(options.layout.tp),
      expert_tp_(options.layout.expert_tp),
      ep_(options.layout.ep),
      hidden_(options.model.hidden),
      tokens_(options.tokens()),
      own_tokens_(options.own_tokens()),
      words_((options.model.vocabulary + tp_ - 1) / tp_),
      size_(size_of(options.model.type)),
      gradient_size_(size_of(options.gradient_type)) {}

// m rows through a matrix of k × n; `weights` elements are read in all (of several such matrices,
// each for some of the rows).
work layer_costs::product(std::uint64_t m, std::uint64_t k, std::uint64_t n,
                          std::uint64_t weights) const {
  return {2 * number(m) * number(k) * number(n),
          size_ * (number(m) * number(k) + number(weights) + number(m) * number(n))};
}

split_block layer_costs::attention() const {
  const auto queries = model_.heads / tp_ * model_.size_of_head();
  const auto keys = std::max<std::uint64_t>(1, model_.kv_heads / tp_) * model_.size_of_head();
  const auto columns = queries + 2 * keys;
  split_block block;
  block.column = product(tokens_, hidden_, columns, hidden_ * columns);
  block.inner = {2 * number(tokens_) * number(model_.sequence) * number(queries),
                 size_ * number(tokens_) * number(columns + queries)};
  block.row = product(tokens_, queries, hidden_, queries * hidden_);
  block.parameters = hidden_ * (columns + queries) + (model_.biases ? columns + hidden_ : 0);
  return block;
}

// `ffn` is this rank's part of the inner size.
split_block layer_costs::forward_block(std::uint64_t tokens, std::uint64_t ffn,
                                       std::uint64_t experts) const {
  const auto columns = ffn * (model_.gated ? 2 : 1);
  split_block block;
  block.column = product(tokens, hidden_, columns, experts * hidden_ * columns);
  block.inner = {0, size_ * number(tokens) * number(columns + ffn)};
  block.row = product(tokens, ffn, hidden_, experts * ffn * hidden_);
  block.parameters =
      experts * (hidden_ * (columns + ffn) + (model_.biases ? columns + hidden_ : 0));
  return block;
}

split_block layer_costs::feed_forward(std::uint64_t layer) const {
  return forward_block(tokens_, model_.ffn_of(layer) / tp_, 1);
}

split_block layer_costs::experts(std::uint64_t tokens) const {
  return forward_block(tokens, model_.ffn / expert_tp_, model_.experts / ep_);
}

work layer_costs::router() const {
  return product(own_tokens_, hidden_, model_.experts, router_parameters());
}

work layer_costs::output_layer() const {
  return product(tokens_, hidden_, words_, word_parameters());
}

work layer_costs::over_hidden(double passes) const { return over_tokens(own_tokens_, passes); }

work layer_costs::over_tokens(std::uint64_t tokens, double passes) const {
  return {0, passes * size_ * number(tokens) * number(hidden_)};
}

work layer_costs::over_logits(double passes) const {
  return {0, passes * size_ * number(tokens_) * number(words_)};
}

work layer_costs::optimizer(std::uint64_t parameters) const {
  constexpr double states = 3 * 4 * 2;  // the parameter and two moments, read and written
  return {0, number(parameters) * (gradient_size_ + states + (size_ < 4 ? size_ : 0))};
}

work layer_costs::over_gradients(std::uint64_t parameters) const {
  return {0, number(parameters) * gradient_size_};
}

}  // namespace troupe::workload
