#include "graph/kineto_exporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/saturating.hpp"
#include "messages/assert.hpp"
#include "messages/release_reason.hpp"

namespace troupe {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// PyTorch's names (c10::ScalarType, ProcessGroup's collectives).
const char* dtype_name(element_type type) {
  switch (type) {
    case element_type::f64:
      return "Double";
    case element_type::f32:
      return "Float";
    case element_type::f16:
      return "Half";
    case element_type::bf16:
      return "BFloat16";
    case element_type::i64:
      return "Long";
    case element_type::i32:
      return "Int";
    case element_type::i16:
      return "Short";
    case element_type::i8:
      return "Char";
    case element_type::u8:
      return "Byte";
    case element_type::boolean:
      return "Bool";
    case element_type::c64:
      return "ComplexFloat";
    case element_type::c128:
      return "ComplexDouble";
    case element_type::f8e4m3:
      return "Float8_e4m3fn";
    case element_type::f8e5m2:
      return "Float8_e5m2";
    case element_type::u32:
      return "UInt32";
    case element_type::u64:
      return "UInt64";
  }
  return "unknown";
}

const char* collective_name(operation op) {
  if (op == operation::all_reduce) return "allreduce";
  return to_string(op);
}

struct element_counts {
  std::uint64_t in{};
  std::optional<std::uint64_t> out;
};

// A node's size is what its rank gives, and where it gives nothing what it gets
// (execution_graph.hpp).
element_counts counts_of(const node& what, std::uint64_t n, bool is_root) {
  const auto size = what.size / size_of(what.type);
  switch (what.op) {
    case operation::all_gather:
      return {size, saturating_multiply(size, n)};
    case operation::reduce_scatter:
      return {size, size / n};
    case operation::gather:
      return {size, is_root ? saturating_multiply(size, n) : 0};
    case operation::scatter:
      return is_root ? element_counts{size, size / n} : element_counts{0, size};
    case operation::all_to_all:
      return {size, std::nullopt};
    case operation::send:
      return {size, 0};
    case operation::recv:
      return {0, size};
    default:
      return {size, size};
  }
}

constexpr std::size_t listed_ranks_max = 30;

// PyTorch cuts long lists and then gives start and stride.
std::string ranks_text(const std::vector<rank_id>& members) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(members.size(), listed_ranks_max); ++i)
    text += (i ? ", " : "") + std::to_string(members[i].value);
  return text + (members.size() > listed_ranks_max ? ", ...]" : "]");
}

std::string stride_arguments(const std::vector<rank_id>& members) {
  const std::int64_t first = members[0].value;
  const std::int64_t stride = members.size() > 1 ? members[1].value - first : 1;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].value != first + static_cast<std::int64_t>(i) * stride) return {};
  return fmt::format(R"(, "Global rank start": {}, "Global rank stride": {})", first, stride);
}

}  // namespace

// `name` is one of ours, `rest` the members behind those that all events have.
void kineto_exporter::event(char phase, const char* name, place where, std::uint64_t at_ns,
                            const std::string& rest) {
  to_.put(has_events_ ? ",\n" : "\n");
  to_.put(fmt::format(R"({{"ph": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}{}}})", phase,
                      name, where.rank.value, where.thread, microseconds(at_ns), rest));
  has_events_ = true;
}

void kineto_exporter::span(const char* category, const std::string& name, place where,
                           std::uint64_t start_ns, std::uint64_t end_ns,
                           const std::string& arguments) {
  event('X', name.c_str(), where, start_ns,
        fmt::format(R"(, "cat": "{}", "dur": {}, "args": {{{}}})", category,
                    microseconds(end_ns - start_ns), arguments));
}

// An arrow hangs on the span that contains its time: the issuer's last nanosecond.
void kineto_exporter::arrow(rank_id rank, const rank_timeline& timeline, std::size_t issuer,
                            std::size_t operation) {
  const bool has_length = timeline.end_ns[issuer] > timeline.start_ns[issuer];
  const auto rest = fmt::format(R"(, "cat": "ac2g", "id": {})", ++arrows_);
  event('s', "ac2g", {rank, timeline.row[issuer]}, timeline.end_ns[issuer] - has_length, rest);
  event('f', "ac2g", {rank, timeline.row[operation]}, timeline.start_ns[operation],
        rest + R"(, "bp": "e")");
}

void kineto_exporter::begin(const execution_graph& tables) {
  tables_ = &tables;
  group_arguments_.resize(tables.communicators.size());
  call_sites_.resize(tables.call_sites.size());
  const char* backend =
      tables.communicators.empty() ? "gloo" : to_string(tables.communicators[0].rules);
  to_.put("{\n\"schemaVersion\": 1,\n\"distributedInfo\": {");
  to_.put(fmt::format(R"("backend": "{}", )", backend));
  if (only_) to_.put(fmt::format(R"("rank": {}, )", only_->value));
  to_.put(fmt::format(R"("world_size": {}, "pg_count": {}, "pg_config": [)", tables.world,
                      tables.communicators.size()));
  for (std::size_t i = 0; i < tables.communicators.size(); ++i) {
    const auto& group = tables.communicators[i];
    to_.put(fmt::format(
        R"({}{{"pg_name": "{}", "pg_desc": {}, "backend_config": "{}", "pg_size": {}, "ranks": [)",
        i ? ",\n" : "\n", i, quoted(group.name), to_string(group.rules), group.members.size()));
    for (std::size_t member = 0; member < group.members.size(); ++member)
      to_.put(fmt::format("{}{}", member ? ", " : "", group.members[member].value));
    to_.put("]}");
  }
  to_.put("]},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n");
  to_.put(
      fmt::format("\"troupe\": {{\"stage\": \"{}\", \"metadata\": {{", to_string(tables.stage)));
  for (std::size_t i = 0; i < tables.metadata.size(); ++i)
    to_.put(fmt::format("{}{}: {}", i ? ", " : "", quoted(tables.metadata[i].first),
                        quoted(tables.metadata[i].second)));
  to_.put("}},\n\"traceEvents\": [");
}

const std::string& kineto_exporter::group_arguments(std::uint32_t communicator) {
  auto& text = group_arguments_[communicator];
  if (text.empty()) {
    const auto& group = tables_->communicators[communicator];
    text = fmt::format(R"("Group size": {}, "Process Group Name": "{}", )", group.members.size(),
                       communicator);
    text += fmt::format(R"("Process Group Description": {}, "Process Group Ranks": "{}")",
                        quoted(group.name), ranks_text(group.members));
    if (group.members.size() > listed_ranks_max) text += stride_arguments(group.members);
  }
  return text;
}

const std::string& kineto_exporter::call_site(std::uint32_t number) {
  auto& text = call_sites_[number];
  if (text.empty()) text = quoted(tables_->call_sites[number]);
  return text;
}

std::int64_t kineto_exporter::group_rank(std::uint32_t communicator, rank_id rank) {
  auto [known, is_new] = group_ranks_.try_emplace(communicator);
  if (is_new) {
    const auto& members = tables_->communicators[communicator].members;
    known->second = std::find(members.begin(), members.end(), rank) - members.begin();
  }
  return known->second;
}

std::string kineto_exporter::arguments(const node& what, rank_id rank, std::size_t index) {
  auto text = fmt::format(R"("node": {})", index);
  if (what.kind == node_kind::copy) text += fmt::format(R"(, "bytes": {})", what.size);
  if (what.call_site != 0) text += fmt::format(R"(, "Call site": {})", call_site(what.call_site));
  if (!communicates(what.kind)) return text;
  const auto members = tables_->communicators[what.communicator].members.size();
  const auto self = group_rank(what.communicator, rank);
  const auto counts = counts_of(what, members, what.peer == self);
  text += fmt::format(R"(, "Collective name": "{}", "In msg nelems": {}, )",
                      collective_name(what.op), counts.in);
  if (counts.out) text += fmt::format(R"("Out msg nelems": {}, )", *counts.out);
  text += fmt::format(R"("dtype": "{}", "Rank": {}, "Seq": {}, "bytes": {}, "stream": {})",
                      dtype_name(what.type), self, what.sequence, what.size, what.stream);
  if (what.reduce != reduction::none)
    text += fmt::format(R"(, "reduction": "{}")", to_string(what.reduce));
  if (what.kind != node_kind::collective) {
    const bool sends = what.kind == node_kind::send;
    text += fmt::format(R"(, "Src Rank": {}, "Dst Rank": {}, "tag": {})", sends ? self : what.peer,
                        sends ? what.peer : self, what.tag);
  }
  return text;
}

void kineto_exporter::describe(const char* what, place where, const std::string& name,
                               std::size_t order) {
  const std::string kind{what};
  event('M', (kind + "_name").c_str(), where, 0,
        fmt::format(R"(, "args": {{"name": {}}})", quoted(name)));
  event('M', (kind + "_sort_index").c_str(), where, 0,
        fmt::format(R"(, "args": {{"sort_index": {}}})", order));
}

void kineto_exporter::add(rank_id rank, std::span<const node> nodes,
                          std::span<const slot_interval> of_rank) {
  TROUPE_ASSERT(tables_ != nullptr);
  const auto timeline = lay_out(nodes);
  group_ranks_.clear();
  describe("process", {rank, 0}, "rank " + std::to_string(rank.value), rank.value);
  for (std::size_t row = 0; row < timeline.rows.size(); ++row)
    describe("thread", {rank, row}, row_name(timeline.rows[row], tables_->communicators), row);
  const place slot_row{rank, timeline.rows.size()};
  describe("thread", slot_row, "slot", slot_row.thread);

  for (std::size_t i = 0; i < nodes.size() && !to_.failed(); ++i) {
    const auto& what = nodes[i];
    const place where{rank, timeline.row[i]};
    if (what.kind == node_kind::marker) {
      event('i', to_string(what.marker), where, timeline.start_ns[i],
            fmt::format(R"(, "cat": "user_annotation", "s": "t", "args": {{"node": {}}})", i));
      continue;
    }
    const bool is_communication = communicates(what.kind);
    auto all = arguments(what, rank, i);
    if (is_communication) all += ", " + group_arguments(what.communicator);
    span(is_communication ? "kernel" : "cpu_op", node_name(what, tables_->communicators), where,
         timeline.start_ns[i], timeline.end_ns[i], all);
    if (!is_communication) continue;
    if (const auto issuer = issuer_of(nodes, i); issuer < nodes.size())
      arrow(rank, timeline, issuer, i);
  }
  for (const auto& each : slot_spans(of_rank))
    span("slot", span_name(each), slot_row, each.start_ns, each.end_ns,
         fmt::format(R"("{}": "{}")", each.is_running ? "given up" : "reason",
                     to_string(static_cast<release_reason>(each.why))));
}

void kineto_exporter::end() { to_.put("\n]\n}\n"); }

}  // namespace troupe
