#include "actors/run_records.hpp"

#include <algorithm>

namespace troupe {

run_records::run_records(std::unique_ptr<prism_trace_writer> trace, journal_writer journal,
                         options how, run_tables& tables)
    : trace_(std::move(trace)),
      journal_(std::move(journal)),
      how_(std::move(how)),
      tables_(tables) {}

result<std::unique_ptr<run_records>> run_records::open(options how, run_tables& tables) {
  TROUPE_TRY(trace, prism_trace_writer::create(
                        how.trace, {how.plan.world, graph_stage::bare, how.metadata, 1}));
  TROUPE_TRY(journal, journal_writer::open(how.journal));
  std::unique_ptr<run_records> records{
      new run_records(std::move(trace), std::move(journal), std::move(how), tables)};
  if (auto noted = records->note(records->how_.plan); !noted) return noted.error();
  return records;
}

result<void> run_records::write_tables() {
  const auto fresh = tables_.take_fresh();
  for (const auto& communicator : fresh.communicators) {
    const auto last = *std::max_element(communicator.members.begin(), communicator.members.end());
    if (auto done = trace_->grow(last.value + 1); !done) return done;
    if (auto done = trace_->append(communicator); !done) return done;
  }
  for (const auto& site : fresh.call_sites)
    if (auto done = trace_->append_call_site(site); !done) return done;
  return {};
}

result<void> run_records::note(journal::event what) {
  return journal_.append({static_cast<std::uint64_t>(how_.now().count()), std::move(what)});
}

result<void> run_records::put(const record_nodes& nodes) {
  if (auto done = trace_->grow(nodes.rank.value + 1); !done) return done;
  return trace_->append(nodes.rank, *nodes.nodes);
}
result<void> run_records::put(const record_slots& slots) {
  return trace_->append(*slots.intervals);
}
namespace {

journal::finding for_journal(const finding& what) {
  return {what.kind, what.ranks, what.communicator, what.sequence, what.text};
}

}  // namespace

result<void> run_records::put(const record_finding& found) { return note(for_journal(found.what)); }
result<void> run_records::put(const record_warning& warned) {
  return note(journal::warning{for_journal(warned.what)});
}
result<void> run_records::put(const record_process& process) {
  if (process.ended)
    return note(journal::process_ended{process.rank, process.pid, process.wait_status});
  return note(journal::process_started{process.rank, process.pid});
}

result<void> run_records::write(const std::vector<record>& batch) {
  if (auto done = write_tables(); !done) return done;  // before the nodes that name them
  for (const auto& what : batch)
    if (auto done = std::visit([this](const auto& one) { return put(one); }, what); !done)
      return done;
  if (how_.now() - flushed_ < flush_period) return {};
  flushed_ = how_.now();
  return trace_->flush();
}

result<void> run_records::close(errc outcome, std::uint64_t wall_ns) {
  if (auto done = write_tables(); !done) return done;
  if (auto done = trace_->close(); !done) return done;
  return note(journal::run_ended{outcome, wall_ns});
}

}  // namespace troupe
