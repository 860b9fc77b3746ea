#include "tools/timeline_file.hpp"

#include "graph/buffered_output.hpp"
#include "graph/kineto_exporter.hpp"
#include "graph/perfetto_exporter.hpp"
#include "graph/prism_trace_writer.hpp"
#include "tools/replacement_file.hpp"

namespace troupe {
namespace {

class exported_file final : public timeline_file {
 public:
  exported_file(replacement_file file, output_file opened, timeline_format format,
                const execution_graph& tables, std::optional<rank_id> only)
      : file_(std::move(file)), to_(std::move(opened)) {
    if (format == timeline_format::kineto)
      exporter_ = std::make_unique<kineto_exporter>(to_, only);
    else
      exporter_ = std::make_unique<perfetto_exporter>(to_);
    exporter_->begin(tables);
  }
  result<void> add(rank_id rank, std::span<const node> nodes,
                   std::span<const slot_interval> of_rank) override {
    exporter_->add(rank, nodes, of_rank);
    if (to_.failed()) return to_.status().error();
    return {};
  }
  result<std::uint64_t> close() override {
    exporter_->end();
    if (auto closed = to_.close(); !closed) return closed.error();
    if (auto placed = file_.put_in_place(); !placed) return placed.error();
    return to_.written_bytes();
  }

 private:
  replacement_file file_;
  buffered_output to_;
  std::unique_ptr<timeline_exporter> exporter_;
};

class trace_file final : public timeline_file {
 public:
  trace_file(replacement_file file, std::unique_ptr<prism_trace_writer> to)
      : file_(std::move(file)), to_(std::move(to)) {}
  result<void> begin(const execution_graph& tables) {
    for (const auto& each : tables.communicators)
      if (auto added = to_->append(each); !added) return added.error();
    for (std::size_t i = 1; i < tables.call_sites.size(); ++i)
      if (auto added = to_->append_call_site(tables.call_sites[i]); !added) return added.error();
    return {};
  }
  result<void> add(rank_id rank, std::span<const node> nodes,
                   std::span<const slot_interval> of_rank) override {
    if (auto added = to_->append(rank, nodes); !added) return added.error();
    return to_->append(of_rank);
  }
  result<std::uint64_t> close() override {
    if (auto closed = to_->close(); !closed) return closed.error();
    if (auto placed = file_.put_in_place(); !placed) return placed.error();
    return to_->written_bytes();
  }

 private:
  replacement_file file_;
  std::unique_ptr<prism_trace_writer> to_;
};

}  // namespace

const char* to_string(timeline_format format) {
  switch (format) {
    case timeline_format::kineto:
      return "kineto";
    case timeline_format::perfetto:
      return "perfetto";
    case timeline_format::prism:
      return "prism";
  }
  return "?";
}

std::optional<timeline_format> timeline_format_of(const std::string& path) {
  if (path.ends_with(".json")) return timeline_format::kineto;
  if (path.ends_with(".perfetto") || path.ends_with(".pftrace")) return timeline_format::perfetto;
  if (path.ends_with(".prism")) return timeline_format::prism;
  return std::nullopt;
}

result<std::unique_ptr<timeline_file>> timeline_file::create(const std::string& path,
                                                             timeline_format format,
                                                             const execution_graph& tables,
                                                             std::optional<rank_id> only) {
  TROUPE_TRY(file, replacement_file::reserve(path));
  if (format == timeline_format::prism) {
    TROUPE_TRY(to,
               prism_trace_writer::create(
                   file.temporary_path(),
                   {.world = tables.world, .stage = tables.stage, .metadata = tables.metadata}));
    auto made = std::make_unique<trace_file>(std::move(file), std::move(to));
    if (auto begun = made->begin(tables); !begun) return begun.error();
    return std::unique_ptr<timeline_file>(std::move(made));
  }
  TROUPE_TRY(opened, output_file::create(file.temporary_path()));
  return std::unique_ptr<timeline_file>(
      std::make_unique<exported_file>(std::move(file), std::move(opened), format, tables, only));
}

}  // namespace troupe
