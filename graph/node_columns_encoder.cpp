#include <algorithm>

#include "graph/node_columns.hpp"
#include "graph/structural_digest.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

bool same_shape(const node& a, const node& b) {
  return a.kind == b.kind && a.stream == b.stream && a.op == b.op && a.type == b.type
         && a.reduce == b.reduce && a.marker == b.marker && a.communicator == b.communicator
         && a.size == b.size && a.peer == b.peer && a.tag == b.tag && a.call_site == b.call_site
         && a.after == b.after;
}

std::uint64_t hash_of(const node& what) {
  const auto hash = shape_digest(what, communicator_id{what.communicator});
  return rank_digest::mix(hash, what.call_site);
}

template <class Field>
void put_each(varint_sink& to, const std::vector<node>& shapes, Field field) {
  for (const auto& shape : shapes) to.put(field(shape));
}

std::uint64_t zigzag(std::int32_t value) {
  return static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31);
}

// Field by field, so that equal fields lie together.
varint_sink shapes_column(const std::vector<node>& shapes) {
  varint_sink to;
  to.put(shapes.size());
  put_each(to, shapes, [](const node& s) { return static_cast<std::uint64_t>(s.kind); });
  put_each(to, shapes, [](const node& s) { return s.stream; });
  put_each(to, shapes, [](const node& s) { return static_cast<std::uint64_t>(s.op); });
  put_each(to, shapes, [](const node& s) { return static_cast<std::uint64_t>(s.type); });
  put_each(to, shapes, [](const node& s) { return static_cast<std::uint64_t>(s.reduce); });
  put_each(to, shapes, [](const node& s) { return static_cast<std::uint64_t>(s.marker); });
  put_each(to, shapes, [](const node& s) { return s.communicator; });
  put_each(to, shapes, [](const node& s) { return s.size; });
  put_each(to, shapes, [](const node& s) { return zigzag(s.peer); });
  put_each(to, shapes, [](const node& s) { return zigzag(s.tag); });
  put_each(to, shapes, [](const node& s) { return s.call_site; });
  put_each(to, shapes, [](const node& s) { return s.after.size(); });
  for (const auto& shape : shapes) {
    std::uint32_t before = 0;
    for (auto distance : shape.after) {
      to.put(distance - before);
      before = distance;
    }
  }
  return to;
}

// 0: the next shape that was not seen yet; n + 1: shape n.
varint_sink shape_numbers_column(const std::vector<std::uint32_t>& shape) {
  varint_sink to;
  std::uint32_t seen = 0;
  for (auto number : shape) {
    to.put(number == seen ? 0 : number + 1);
    seen += number == seen;
  }
  return to;
}

int bytes_of(std::uint64_t value) { return value == 0 ? 0 : (71 - __builtin_clzll(value)) / 8; }

// A shape's times lie close together: its least time, then each time's distance above it, in as
// many bytes as the shape's largest distance needs, all lowest bytes first (they are noise), then
// the second bytes, …
struct time_columns {
  std::vector<std::uint64_t> least;
  std::vector<std::uint8_t> width;
  std::vector<std::vector<std::uint8_t>> planes;

  time_columns(std::size_t shapes, const std::vector<std::uint32_t>& shape,
               const std::vector<std::uint64_t>& times)
      : least(shapes, ~std::uint64_t{0}), width(shapes) {
    std::vector<std::uint64_t> most(shapes);
    std::vector<std::size_t> nodes(shapes);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto number = shape[i];
      least[number] = std::min(least[number], times[i]);
      most[number] = std::max(most[number], times[i]);
      ++nodes[number];
    }
    std::vector<std::size_t> sizes(8);
    for (std::size_t number = 0; number < shapes; ++number) {
      width[number] = static_cast<std::uint8_t>(bytes_of(most[number] - least[number]));
      for (int plane = 0; plane < width[number]; ++plane) sizes[plane] += nodes[number];
    }
    std::uint8_t* ends[8] = {};
    planes.resize(*std::max_element(width.begin(), width.end()));
    for (std::size_t plane = 0; plane < planes.size(); ++plane) {
      planes[plane].resize(sizes[plane]);
      ends[plane] = planes[plane].data();
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto above = times[i] - least[shape[i]];
      for (int plane = 0; plane < width[shape[i]]; ++plane, above >>= 8)
        *ends[plane]++ = static_cast<std::uint8_t>(above);
    }
  }
};

}  // namespace

std::uint32_t node_series::of(const node& shape) {
  if (!communicates(shape.kind)) return none;
  const bool is_collective = shape.kind == node_kind::collective;
  return numbers_
      .try_emplace({shape.kind, shape.communicator, is_collective ? 0 : shape.peer,
                    is_collective ? 0 : shape.tag},
                   static_cast<std::uint32_t>(numbers_.size()))
      .first->second;
}

bool node_columns_encoder::is_full_for(const node& what) const {
  return count() == chunk_nodes_max
         || (count() > 0 && edges_ + what.after.size() > chunk_edges_max);
}

void node_columns_encoder::grow_table() {
  table_.assign(std::max<std::size_t>(64, table_.size() * 4), 0);
  for (std::uint32_t number = 0; number < shapes_.size(); ++number) {
    auto at = hash_of(shapes_[number]) & (table_.size() - 1);
    while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = number + 1;
  }
}

std::uint32_t node_columns_encoder::find(const node& what) const {
  if (!shape_.empty()) {
    const auto expected = follower_[shape_.back()];
    if (expected != node_series::none && same_shape(shapes_[expected], what)) return expected;
  }
  if (table_.empty()) return node_series::none;
  auto at = hash_of(what) & (table_.size() - 1);
  while (table_[at] != 0) {
    if (same_shape(shapes_[table_[at] - 1], what)) return table_[at] - 1;
    at = (at + 1) & (table_.size() - 1);
  }
  return node_series::none;
}

std::uint32_t node_columns_encoder::add_shape(const node& what) {
  node shape = what;
  shape.sequence = shape.duration_ns = shape.gap_ns = 0;
  edges_ += static_cast<std::uint32_t>(what.after.size());
  series_of_.push_back(series_.of(shape));
  last_sequence_.resize(series_.size());
  follower_.push_back(node_series::none);
  shapes_.push_back(std::move(shape));
  if (2 * shapes_.size() > table_.size()) {
    grow_table();
  } else {
    auto at = hash_of(what) & (table_.size() - 1);
    while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<std::uint32_t>(shapes_.size());
  }
  return static_cast<std::uint32_t>(shapes_.size() - 1);
}

bool node_columns_encoder::add_known(const node& what) {
  const auto number = find(what);
  if (number != node_series::none) add(what, number);
  return number != node_series::none;
}

void node_columns_encoder::add(const node& what) {
  if (!add_known(what)) add(what, add_shape(what));
}

void node_columns_encoder::add(const node& what, std::uint32_t number) {
  if (!shape_.empty()) follower_[shape_.back()] = number;
  shape_.push_back(number);
  duration_ns_.push_back(what.duration_ns);
  gap_ns_.push_back(what.gap_ns);
  if (const auto series = series_of_[number]; series != node_series::none) {
    sequences_.put_signed(static_cast<std::int64_t>(what.sequence - last_sequence_[series] - 1));
    last_sequence_[series] = what.sequence;
  }
}

std::size_t node_columns_encoder::buffered_bytes() const {
  return shape_.size() * (sizeof(shape_[0]) + 2 * sizeof(duration_ns_[0]) + 1)
         + shapes_.size() * (sizeof(node) + 16) + edges_ * sizeof(std::uint32_t);
}

trace_chunk node_columns_encoder::encode(rank_id rank, std::uint32_t first, column_packer& packer) {
  TROUPE_ASSERT(count() > 0);
  trace_chunk chunk{trace_chunk_kind::nodes, rank.value, first, count(), {}};
  packer.clear();
  packer.add(chunk, shapes_column(shapes_).take());
  packer.add(chunk, shape_numbers_column(shape_).take());
  packer.add(chunk, sequences_.take());
  time_columns durations(shapes_.size(), shape_, duration_ns_);
  time_columns gaps(shapes_.size(), shape_, gap_ns_);
  varint_sink times;
  for (const auto* column : {&durations, &gaps}) {
    for (auto least : column->least) times.put(least);
    for (auto width : column->width) times.put(width);
  }
  packer.add(chunk, times.take());
  for (auto* column : {&durations, &gaps})
    for (auto& plane : column->planes) packer.add(chunk, std::move(plane));
  *this = {};
  return chunk;
}

}  // namespace troupe
