#include "graph/workload/llm_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace troupe::workload {
namespace {

template <class Number>
bool parse(const std::string& text, Number& into) {
  const auto end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, into);
  return wrong == std::errc{} && rest == end && !text.empty();
}

bool set_type(element_type& into, const std::string& text) {
  for (auto each : {element_type::bf16, element_type::f16, element_type::f32})
    if (text == to_string(each)) {
      into = each;
      return true;
    }
  return false;
}

bool set_schedule(llm_options& of, const std::string& text) {
  for (auto each : {schedule_kind::one_forward_one_backward, schedule_kind::interleaved})
    if (text == to_string(each)) {
      of.schedule = each;
      return true;
    }
  return false;
}

bool set_layers(llm_options& of, const std::string& text) {
  std::vector<std::uint64_t> list;
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    if (!parse(text.substr(at, comma - at), list.emplace_back())) return false;
    at = comma + 1;
  }
  of.layers_per_stage = std::move(list);
  return true;
}

std::string layers_text(const llm_options& of) {
  return fmt::format("{}", fmt::join(of.layers_per_stage, ","));
}

bool set_zero(llm_options& of, const std::string& text) {
  of.shard_optimizer = text == "1";
  return text == "0" || text == "1";
}

using model = model_description;
using device = device_description;
using layout = parallel_layout;

template <auto Member>
auto& in_model(llm_options& of) {
  return of.model.*Member;
}
template <auto Member>
auto& in_device(llm_options& of) {
  return of.device.*Member;
}
template <auto Member>
auto& in_layout(llm_options& of) {
  return of.layout.*Member;
}
template <auto Member>
auto& in_options(llm_options& of) {
  return of.*Member;
}

std::vector<llm_setting> model_settings() {
  return {
      {"layers", "layers of the model", number_setting{in_model<&model::layers>, 1, 1u << 16}},
      {"hidden", "its hidden size", number_setting{in_model<&model::hidden>, 1, 1u << 20}},
      {"ffn", "inner size of the feed-forward block; of an expert in a MoE layer",
       number_setting{in_model<&model::ffn>, 1, 1u << 24}},
      {"heads", "attention heads", number_setting{in_model<&model::heads>, 1, 1u << 16}},
      {"kv-heads", "heads of keys and values (grouped queries; heads)",
       number_setting{in_model<&model::kv_heads>, 1, 1u << 16}},
      {"head-size", "size of a head (hidden / heads)",
       number_setting{in_model<&model::head_size>, 1, 1u << 16}},
      {"vocabulary", "words", number_setting{in_model<&model::vocabulary>, 1, 1u << 28}},
      {"sequence", "tokens of a sequence", number_setting{in_model<&model::sequence>, 1, 1u << 28}},
      {"gated", "three matrices a feed-forward block, SwiGLU (true), not two",
       flag_setting{in_model<&model::gated>}},
      {"biases", "linear layers and norms have biases (false)",
       flag_setting{in_model<&model::biases>}},
      {"tied-embeddings", "the output layer is the word embedding (false)",
       flag_setting{in_model<&model::tied_embeddings>}},
      {"learned-positions", "an embedding of each position (false)",
       flag_setting{in_model<&model::learned_positions>}},
      {"experts", "experts of a MoE layer; 0: no MoE (0)",
       number_setting{in_model<&model::experts>, 0, 1u << 16}},
      {"top-k", "experts of a token", number_setting{in_model<&model::top_k>, 0, 1u << 16}},
      {"moe-first", "the first MoE layer (0)",
       number_setting{in_model<&model::moe_first>, 0, 1u << 16}},
      {"moe-every", "from there on every so many-th layer is one (1)",
       number_setting{in_model<&model::moe_every>, 1, 1u << 16}},
      {"dense-ffn", "ffn of the layers that are no MoE layers (ffn)",
       number_setting{in_model<&model::dense_ffn>, 1, 1u << 24}},
      {"data-type", "of parameters and activations: bf16, f16 or f32 (bf16)",
       word_setting{
           "bf16, f16 or f32",
           [](llm_options& of, const std::string& text) { return set_type(of.model.type, text); },
           [](const llm_options& of) -> std::string { return to_string(of.model.type); }}},
  };
}

std::vector<llm_setting> device_settings() {
  return {
      {"peak-flops", "FLOP/s of the device with the data type (the device's)",
       real_setting{in_device<&device::peak_flops>, 1e6, 1e24}},
      {"memory-bandwidth", "bytes/s of its memory (the device's)",
       real_setting{in_device<&device::memory_bandwidth>, 1e6, 1e21}},
      {"efficiency", "part of the peak that matrix products reach (0.6)",
       real_setting{in_device<&device::efficiency>, 1e-6, 1}},
  };
}

std::vector<llm_setting> layout_settings() {
  return {
      {"tp", "tensor-parallel ranks (1)", number_setting{in_layout<&layout::tp>, 1, 1u << 20}},
      {"pp", "pipeline stages (1)", number_setting{in_layout<&layout::pp>, 1, 1u << 20}},
      {"dp", "data-parallel ranks (1)", number_setting{in_layout<&layout::dp>, 1, 1u << 20}},
      {"ep", "expert-parallel ranks; expert-tp x ep divides tp x dp (1)",
       number_setting{in_layout<&layout::ep>, 1, 1u << 20}},
      {"expert-tp", "tensor-parallel ranks of an expert (tp)",
       number_setting{in_layout<&layout::expert_tp>, 1, 1u << 20}},
      {"schedule", "order of micro-batches in the pipeline: 1f1b or interleaved (1f1b)",
       word_setting{"1f1b or interleaved", set_schedule,
                    [](const llm_options& of) -> std::string { return to_string(of.schedule); }}},
      {"virtual-stages", "interleaved: chunks of layers a stage has (1)",
       number_setting{in_options<&llm_options::virtual_stages>, 1, 1u << 16}},
      {"layers-per-stage",
       "layers of each stage, 1,2,2,3; interleaved: first all stages' first chunks (evenly, the "
       "first stages one more)",
       word_setting{"numbers with commas between", set_layers, layers_text}},
  };
}

std::vector<llm_setting> step_settings() {
  return {
      {"micro-batch", "sequences of a micro-batch (1)",
       number_setting{in_options<&llm_options::micro_batch>, 1, 1u << 20}},
      {"micro-batches", "micro-batches of each data-parallel rank, a step (8)",
       number_setting{in_options<&llm_options::micro_batches>, 1, 1u << 20}},
      {"steps", "training steps (1)", number_setting{in_options<&llm_options::steps>, 1, 1u << 20}},
      {"sequence-parallel", "reduce_scatter and all_gather instead of tp's all_reduce (false)",
       flag_setting{in_options<&llm_options::sequence_parallel>}},
      {"zero", "1: shards of the optimizer, gradients by reduce_scatter; 0: by all_reduce (0)",
       word_setting{
           "0 or 1", set_zero,
           [](const llm_options& of) -> std::string { return of.shard_optimizer ? "1" : "0"; }}},
      {"gradient-type", "of gradients as they are reduced: bf16, f16 or f32 (f32)",
       word_setting{
           "bf16, f16 or f32",
           [](llm_options& of, const std::string& text) {
             return set_type(of.gradient_type, text);
           },
           [](const llm_options& of) -> std::string { return to_string(of.gradient_type); }}},
      {"bucket-size", "bytes of gradients that are reduced together (160000000)",
       number_setting{in_options<&llm_options::bucket_bytes>, 1, std::uint64_t{1} << 53}},
      {"imbalance",
       "MoE: tokens of the fullest ep rank, which is drawn for each layer and micro-batch, in "
       "parts "
       "of the mean (1)",
       real_setting{in_options<&llm_options::imbalance>, 1, 1u << 20}},
      {"seed", "of that draw (1)",
       number_setting{in_options<&llm_options::seed>, 0, ~std::uint64_t{0}}},
  };
}

struct setter {
  llm_options& of;
  const llm_setting& setting;
  const std::string& value;

  error wrong(const std::string& expected) const {
    return {errc::usage, fmt::format("{}: expected {}, found '{}'", setting.name, expected, value)};
  }
  result<void> operator()(const number_setting& field) const {
    std::uint64_t number{};
    if (!parse(value, number) || number < field.least || number > field.most)
      return wrong(fmt::format("a number from {} to {}", field.least, field.most));
    field.in(of) = number;
    return {};
  }
  result<void> operator()(const real_setting& field) const {
    double number{};
    if (!parse(value, number) || !(number >= field.least && number <= field.most))
      return wrong(fmt::format("a number from {:g} to {:g}", field.least, field.most));
    field.in(of) = number;
    if (&field.in(of) == &of.device.peak_flops) of.device.is_of_16_bits = false;
    return {};
  }
  result<void> operator()(const flag_setting& field) const {
    if (value != "true" && value != "false") return wrong("true or false");
    field.in(of) = value == "true";
    return {};
  }
  result<void> operator()(const word_setting& field) const {
    if (!field.set(of, value)) return wrong(field.expected);
    return {};
  }
};

// Empty: not set.
std::string value_of(const llm_setting& setting, llm_options& of) {
  if (const auto* field = std::get_if<number_setting>(&setting.field))
    return field->in(of) < field->least ? "" : std::to_string(field->in(of));
  if (const auto* field = std::get_if<real_setting>(&setting.field))
    return fmt::format("{}", field->in(of));
  if (const auto* field = std::get_if<flag_setting>(&setting.field))
    return field->in(of) ? "true" : "false";
  return std::get<word_setting>(setting.field).get(of);
}

}  // namespace

const std::vector<llm_setting>& llm_settings() {
  static const auto all = [] {
    std::vector<llm_setting> list;
    for (const auto& part :
         {model_settings(), device_settings(), layout_settings(), step_settings()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

result<void> set_setting(llm_options& of, const std::string& name, const std::string& value) {
  for (const auto& setting : llm_settings())
    if (name == setting.name) return std::visit(setter{of, setting, value}, setting.field);
  return error{errc::usage, "there is no setting " + name + " (troupe generate llm --help)"};
}

std::vector<std::pair<std::string, std::string>> describe(const llm_options& options) {
  const auto& model = options.model;
  const auto& layout = options.layout;
  const auto billions = static_cast<double>(parameters(model).total()) / 1e9;
  auto ranks = fmt::format("tp {}, pp {}, dp {}", layout.tp, layout.pp, layout.dp);
  if (model.experts > 0) ranks += fmt::format(", ep {}, expert-tp {}", layout.ep, layout.expert_tp);
  auto schedule = fmt::format("{}, {} micro-batches of {} x {} tokens", to_string(options.schedule),
                              options.micro_batches, options.micro_batch, model.sequence);
  if (options.virtual_stages > 1)
    schedule += fmt::format(", {} virtual stages", options.virtual_stages);
  std::string settings;
  auto copy = options;
  for (const auto& setting : llm_settings())
    if (const auto value = value_of(setting, copy); !value.empty())
      settings += fmt::format("{}{}: {}", settings.empty() ? "" : "\n", setting.name, value);
  return {{"generator", "troupe generate llm"},
          {"model", fmt::format("{}, {:.3g} billion parameters", model.name, billions)},
          {"layout", ranks},
          {"schedule", schedule},
          {"device", fmt::format("{}, {:.4g} FLOP/s x {:g}, {:.4g} bytes/s", options.device.name,
                                 options.device.peak_flops, options.device.efficiency,
                                 options.device.memory_bandwidth)},
          {"settings", settings}};
}

}  // namespace troupe::workload
