#include "graph/prism_trace_writer.hpp"

#include <algorithm>
#include <optional>

#include "graph/column_coding.hpp"
#include "graph/node_check.hpp"
#include "graph/node_columns.hpp"
#include "graph/output_file.hpp"
#include "graph/prism_trace_format.hpp"
#include "graph/trace_tables.hpp"
#include "messages/assert.hpp"
#include "messages/trace_codec.hpp"

namespace troupe {
namespace {

namespace format = prism_trace_format;
static_assert(prism_trace_writer::nodes_per_chunk == chunk_nodes_max);

constexpr std::size_t buffered_bytes_max = 256u << 20;
constexpr std::size_t table_chunk_bytes = 1u << 20;  // about, before packing

error wrong_world(const std::string& path, std::uint32_t world) {
  return {errc::bad_input, path + ": a world of " + std::to_string(world) + " ranks, expected 1 to "
                               + std::to_string(format::world_max)};
}

struct rank_part {
  node_columns_encoder nodes;
  std::uint32_t written = 0;  // nodes in earlier chunks
};

class file_writer final : public prism_trace_writer {
 public:
  file_writer(output_file file, const options& how)
      : file_(std::move(file)), packer_(how.zstd_level), ranks_(how.world) {}

  result<void> write_header(const options& how) {
    trace_header header;
    header.world = how.world;
    header.stage = static_cast<std::uint8_t>(how.stage);
    header.metadata = how.metadata;
    const auto body = encode(trace_record{std::move(header)});
    if (body.size() > trace_record_bytes_max)
      return error{errc::bad_input,
                   file_.path() + ": metadata of " + std::to_string(body.size()) + " bytes"};
    if (auto wrote = write(format::file_magic); !wrote) return wrote;
    return write(format::framed_record(body));
  }

  result<void> grow(std::uint32_t world) override {
    if (failure_) return *failure_;
    const auto before = static_cast<std::uint32_t>(ranks_.size());
    if (world <= before) return {};
    if (world > format::world_max) return wrong_world(file_.path(), world);
    ranks_.resize(world);
    trace_chunk chunk;
    chunk.kind = trace_chunk_kind::ranks;
    chunk.first = before;
    chunk.count = world - before;
    return write_chunk(std::move(chunk));
  }

  result<void> append(rank_id rank, std::span<const node> nodes) override {
    TROUPE_ASSERT(rank.value < ranks_.size(), rank.value, ranks_.size());
    if (failure_) return *failure_;
    if (!ranks_[rank.value]) ranks_[rank.value] = std::make_unique<rank_part>();
    auto& part = *ranks_[rank.value];
    node_check check(rank, communicators_, call_sites_);
    for (const auto& what : nodes) {
      if (part.nodes.is_full_for(what))
        if (auto wrote = write_nodes(rank); !wrote) return wrote;
      if (auto added = add(part, what, rank, check); !added) return added;
    }
    while (buffered_bytes_ > buffered_bytes_max)
      if (auto wrote = write_nodes(fullest()); !wrote) return wrote;
    return {};
  }

  result<void> append(std::span<const slot_interval> intervals) override {
    if (failure_) return *failure_;
    for (const auto& interval : intervals) {
      slots_.push_back(interval);
      if (slots_.size() == format::table_chunk_entries_max)
        if (auto wrote = write_slots(); !wrote) return wrote;
    }
    return {};
  }

  result<void> append(const communicator_entry& communicator) override {
    if (failure_) return *failure_;
    TROUPE_ASSERT(!communicator.members.empty());
    for (auto member : communicator.members)
      TROUPE_ASSERT(member.value < ranks_.size(), member.value, ranks_.size());
    communicators_.push_back(communicator);
    auto& kept = communicators_.back();
    kept.name.resize(std::min(kept.name.size(), trace_text_bytes_max));
    table_bytes_ += kept.members.size() + kept.name.size();
    return write_tables_if_large();
  }

  result<void> append_call_site(const std::string& call_site) override {
    if (failure_) return *failure_;
    pending_call_sites_.push_back(call_site.substr(0, trace_text_bytes_max));
    ++call_sites_;
    table_bytes_ += pending_call_sites_.back().size();
    return write_tables_if_large();
  }

  result<void> flush() override {
    if (failure_) return *failure_;
    if (auto wrote = write_tables(); !wrote) return wrote;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank] && ranks_[rank]->nodes.count() > 0)
        if (auto wrote = write_nodes(rank_id{rank}); !wrote) return wrote;
    return write_slots();
  }

  result<void> close() override {
    if (auto flushed = flush(); !flushed) return flushed;
    const auto index_offset = file_.written_bytes();
    const auto chunks = index_.size();
    for (std::size_t at = 0; at < chunks; at += format::table_chunk_entries_max) {
      const auto count = std::min<std::size_t>(chunks - at, format::table_chunk_entries_max);
      auto chunk = encode_index(std::span(index_).subspan(at, count), packer_);
      if (auto wrote = write(format::framed_record(encode(trace_record{std::move(chunk)}))); !wrote)
        return wrote;
    }
    if (auto wrote = write(format::framed_footer({index_offset, chunks})); !wrote) return wrote;
    failure_ = error{errc::internal, file_.path() + " was closed already"};
    return file_.close();
  }

  std::uint64_t written_bytes() const override { return file_.written_bytes(); }

 private:
  result<void> add(rank_part& part, const node& what, rank_id rank, node_check& check) {
    const auto before = part.nodes.buffered_bytes();
    const std::uint64_t index = std::uint64_t{part.written} + part.nodes.count();
    std::string wrong;
    if (what.duration_ns >= node_time_ns_max || what.gap_ns >= node_time_ns_max)
      wrong = "a duration or a gap of years";
    else if (!what.after.empty() && what.after.back() > index)
      wrong = "an edge from before the rank's first node";
    else if (what.sequence != 0 && !communicates(what.kind))
      wrong = "a sequence on a node without communicator";
    else if (index == 0xffffffff)
      wrong = "more nodes than a rank can have";
    else if (!part.nodes.add_known(what)) {
      wrong = check.wrong_shape(what);
      if (wrong.empty()) part.nodes.add(what);
    }
    if (!wrong.empty())
      return error{errc::bad_input, file_.path() + ": rank " + std::to_string(rank.value)
                                        + ", node " + std::to_string(index) + ": " + wrong};
    buffered_bytes_ += part.nodes.buffered_bytes() - before;
    return {};
  }

  rank_id fullest() const {
    std::uint32_t found = 0;
    std::size_t most = 0;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto size = ranks_[rank] ? ranks_[rank]->nodes.buffered_bytes() : 0;
      if (size > most) {
        most = size;
        found = rank;
      }
    }
    return rank_id{found};
  }

  result<void> write(std::span<const std::uint8_t> bytes) {
    auto wrote = file_.write(bytes);
    if (!wrote) failure_ = wrote.error();
    return wrote;
  }

  result<void> write_chunk(trace_chunk chunk) {
    trace_index_entry entry{chunk.kind, chunk.rank, chunk.first, chunk.count, file_.written_bytes(),
                            0};
    const auto bytes = format::framed_record(encode(trace_record{std::move(chunk)}));
    entry.length = static_cast<std::uint32_t>(bytes.size());
    index_.push_back(entry);
    return write(bytes);
  }

  result<void> write_nodes(rank_id rank) {
    if (auto wrote = write_tables(); !wrote) return wrote;
    auto& part = *ranks_[rank.value];
    const auto count = part.nodes.count();
    buffered_bytes_ -= part.nodes.buffered_bytes();
    auto chunk = part.nodes.encode(rank, part.written, packer_);
    part.written += count;
    return write_chunk(std::move(chunk));
  }

  result<void> write_slots() {
    if (slots_.empty()) return {};
    auto chunk = encode_slots(slots_, packer_);
    slots_.clear();
    return write_chunk(std::move(chunk));
  }

  result<void> write_tables_if_large() {
    const bool is_large =
        table_bytes_ >= table_chunk_bytes
        || pending_call_sites_.size() == format::table_chunk_entries_max
        || communicators_.size() - written_communicators_ == format::table_chunk_entries_max;
    return is_large ? write_tables() : result<void>{};
  }

  result<void> write_tables() {
    table_bytes_ = 0;
    if (const auto first = written_communicators_; first < communicators_.size()) {
      written_communicators_ = static_cast<std::uint32_t>(communicators_.size());
      auto chunk = encode_communicators(std::span(communicators_).subspan(first), first, packer_);
      if (auto wrote = write_chunk(std::move(chunk)); !wrote) return wrote;
    }
    if (!pending_call_sites_.empty()) {
      const auto first = call_sites_ - static_cast<std::uint32_t>(pending_call_sites_.size());
      auto chunk = encode_call_sites(pending_call_sites_, first, packer_);
      pending_call_sites_.clear();
      if (auto wrote = write_chunk(std::move(chunk)); !wrote) return wrote;
    }
    return {};
  }

  output_file file_;
  column_packer packer_;
  std::optional<error> failure_;
  std::vector<std::unique_ptr<rank_part>> ranks_;
  std::size_t buffered_bytes_ = 0;
  std::vector<slot_interval> slots_;
  std::vector<communicator_entry> communicators_;
  std::uint32_t written_communicators_ = 0;
  std::vector<std::string> pending_call_sites_;
  std::uint32_t call_sites_ = 1;
  std::size_t table_bytes_ = 0;
  std::vector<trace_index_entry> index_;
};

}  // namespace

result<std::unique_ptr<prism_trace_writer>> prism_trace_writer::create(const std::string& path,
                                                                       options how) {
  if (how.world == 0 || how.world > format::world_max) return wrong_world(path, how.world);
  if (how.metadata.size() > trace_metadata_max)
    return error{errc::bad_input, path + ": " + std::to_string(how.metadata.size())
                                      + " metadata entries, expected at most "
                                      + std::to_string(trace_metadata_max)};
  TROUPE_TRY(file, output_file::create(path));
  auto writer = std::make_unique<file_writer>(std::move(file), how);
  if (auto wrote = writer->write_header(how); !wrote) return wrote.error();
  return std::unique_ptr<prism_trace_writer>(std::move(writer));
}

}  // namespace troupe
