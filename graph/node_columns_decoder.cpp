#include <algorithm>

#include "graph/node_check.hpp"
#include "graph/node_columns.hpp"

namespace troupe {
namespace {

error disbelieved(std::string what) { return {errc::bad_input, std::move(what)}; }

constexpr std::size_t fixed_columns =
    4;  // shapes, shape numbers, sequences, least times; then the planes

template <class Value, class Set>
void get_each(varint_source& from, std::vector<node>& shapes, std::uint64_t most, Set set) {
  for (auto& shape : shapes) set(shape, static_cast<Value>(from.get_up_to(most)));
}

std::int32_t unzigzag(std::uint32_t value) {
  return static_cast<std::int32_t>(value >> 1 ^ (0 - (value & 1)));
}

}  // namespace

node node_columns::at(std::uint32_t i) const {
  node what = shapes[shape[i]];
  what.sequence = sequence[i];
  what.duration_ns = duration_ns[i];
  what.gap_ns = gap_ns[i];
  return what;
}

result<void> node_columns_decoder::read_shapes(const trace_chunk& chunk) {
  TROUPE_TRY(raw, unpacker_.unpack(chunk.columns[0], 0));
  varint_source from(raw);
  const auto count = from.get_up_to(chunk.count);
  if (from.failed() || count == 0)
    return disbelieved("a number of shapes that is not between 1 and "
                       + std::to_string(chunk.count));
  shapes_.assign(count, node{});
  auto& s = shapes_;
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  constexpr auto u32_max = std::uint64_t{0xffffffff};
  get_each<u8>(from, s, node_kind_count - 1, [](node& n, u8 v) { n.kind = node_kind{v}; });
  get_each<std::uint16_t>(from, s, 0xffff, [](node& n, std::uint16_t v) { n.stream = v; });
  get_each<u8>(from, s, operation_count - 1, [](node& n, u8 v) { n.op = operation{v}; });
  get_each<u8>(from, s, element_type_count - 1, [](node& n, u8 v) { n.type = element_type{v}; });
  get_each<u8>(from, s, reduction_count - 1, [](node& n, u8 v) { n.reduce = reduction{v}; });
  get_each<u8>(from, s, marker_kind_count - 1, [](node& n, u8 v) { n.marker = marker_kind{v}; });
  get_each<u32>(from, s, u32_max, [](node& n, u32 v) { n.communicator = v; });
  for (auto& shape : s) shape.size = from.get();
  get_each<u32>(from, s, u32_max, [](node& n, u32 v) { n.peer = unzigzag(v); });
  get_each<u32>(from, s, u32_max, [](node& n, u32 v) { n.tag = unzigzag(v); });
  get_each<u32>(from, s, u32_max, [](node& n, u32 v) { n.call_site = v; });
  std::vector<u32> edges(count);
  std::uint64_t total = 0;
  for (auto& each : edges) total += each = static_cast<u32>(from.get_up_to(node_after_max));
  if (total > from.left()) return disbelieved("more edges than their column has bytes");
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t distance = 0;
    shapes_[i].after.resize(edges[i]);
    for (auto& each : shapes_[i].after) {
      const auto step = from.get_up_to(u32_max);
      if (step == 0) from.fail();
      distance += step;
      if (distance > u32_max) from.fail();
      each = static_cast<u32>(distance);
    }
  }
  if (!from.complete())
    return disbelieved("a column of shapes out of range or of the wrong length");
  return {};
}

result<void> node_columns_decoder::read_shape_numbers(const trace_chunk& chunk) {
  TROUPE_TRY(raw, unpacker_.unpack(chunk.columns[1], 1));
  varint_source from(raw);
  const auto shapes = static_cast<std::uint32_t>(shapes_.size());
  std::uint32_t seen = 0;
  std::uint64_t most = 0;
  shape_.resize(chunk.count);
  nodes_of_.assign(shapes, 0);
  for (auto& number : shape_) {
    const auto code = from.get();
    const auto value = code == 0 ? seen++ : code - 1;
    most = std::max(most, value);
    number = static_cast<std::uint32_t>(value);
  }
  if (!from.complete() || most >= shapes || seen != shapes)
    return disbelieved("a column of shape numbers out of range or of the wrong length");
  for (auto number : shape_) ++nodes_of_[number];
  return {};
}

result<void> node_columns_decoder::read_sequences(const trace_chunk& chunk) {
  TROUPE_TRY(raw, unpacker_.unpack(chunk.columns[2], 2));
  varint_source from(raw);
  series_.clear();
  series_of_.clear();
  for (const auto& shape : shapes_) series_of_.push_back(series_.of(shape));
  last_sequence_.assign(series_.size(), 0);
  sequence_.resize(chunk.count);
  for (std::uint32_t i = 0; i < chunk.count; ++i) {
    const auto series = series_of_[shape_[i]];
    sequence_[i] = 0;
    if (series == node_series::none) continue;
    sequence_[i] = last_sequence_[series] + 1 + static_cast<std::uint64_t>(from.get_signed());
    last_sequence_[series] = sequence_[i];
  }
  if (!from.complete()) return disbelieved("a column of sequences of the wrong length");
  return {};
}

result<std::array<const std::uint8_t*, 8>> node_columns_decoder::open_planes(
    const trace_chunk& chunk, std::size_t first_column, std::span<const time_range> ranges) {
  std::array<const std::uint8_t*, 8> planes{};
  for (std::size_t plane = 0; plane < planes.size(); ++plane) {
    std::size_t needed = 0;
    for (std::size_t shape = 0; shape < ranges.size(); ++shape)
      needed += ranges[shape].width > plane ? nodes_of_[shape] : 0;
    if (needed == 0) break;
    TROUPE_TRY(raw, unpacker_.unpack(chunk.columns[first_column + plane], first_column + plane));
    if (raw.size() != needed)
      return disbelieved("a plane of times of " + std::to_string(raw.size()) + " bytes, expected "
                         + std::to_string(needed));
    planes[plane] = raw.data();
  }
  return planes;
}

result<void> node_columns_decoder::read_planes(const trace_chunk& chunk, std::size_t first_column,
                                               std::span<const time_range> ranges,
                                               std::vector<std::uint64_t>& times) {
  TROUPE_TRY(planes, open_planes(chunk, first_column, ranges));
  times.resize(chunk.count);
  auto [first, second, third, fourth, fifth, sixth, seventh, eighth] = planes;
  const std::uint8_t* higher[] = {third, fourth, fifth, sixth, seventh, eighth};
  std::uint64_t any = 0;
  for (std::uint32_t i = 0; i < chunk.count; ++i) {  // nearly all nodes have two bytes or fewer
    const auto& range = ranges[shape_[i]];
    auto time = range.least;
    if (range.width > 0) time += *first++;
    if (range.width > 1) time += std::uint64_t{*second++} << 8;
    for (int plane = 2; plane < range.width; ++plane)
      time += std::uint64_t{*higher[plane - 2]++} << (8 * plane);
    times[i] = time;
    any |= time;
  }
  if (any >= node_time_ns_max) return disbelieved("a duration or a gap of years");
  return {};
}

result<void> node_columns_decoder::read_times(const trace_chunk& chunk) {
  TROUPE_TRY(raw, unpacker_.unpack(chunk.columns[3], 3));
  varint_source from(raw);
  std::vector<time_range> ranges[2];
  std::size_t planes[2] = {0, 0};
  for (int column : {0, 1}) {
    ranges[column].resize(shapes_.size());
    for (auto& range : ranges[column]) range.least = from.get_up_to(node_time_ns_max - 1);
    for (auto& range : ranges[column]) {
      range.width = static_cast<std::uint8_t>(from.get_up_to(8));
      planes[column] = std::max<std::size_t>(planes[column], range.width);
    }
  }
  if (!from.complete()) return disbelieved("a column of least times of the wrong length");
  if (chunk.columns.size() != fixed_columns + planes[0] + planes[1])
    return disbelieved(std::to_string(chunk.columns.size()) + " columns, expected "
                       + std::to_string(fixed_columns + planes[0] + planes[1]));
  if (auto read = read_planes(chunk, fixed_columns, ranges[0], duration_ns_); !read) return read;
  return read_planes(chunk, fixed_columns + planes[0], ranges[1], gap_ns_);
}

result<node_columns> node_columns_decoder::decode(const trace_chunk& chunk) {
  if (chunk.kind != trace_chunk_kind::nodes) return disbelieved("a chunk that does not hold nodes");
  if (chunk.count == 0 || chunk.count > chunk_nodes_max || chunk.count > 0xffffffff - chunk.first)
    return disbelieved(std::to_string(chunk.count) + " nodes, expected 1 to "
                       + std::to_string(chunk_nodes_max));
  if (chunk.columns.size() < fixed_columns)
    return disbelieved(std::to_string(chunk.columns.size()) + " columns, expected at least "
                       + std::to_string(fixed_columns));
  for (auto read : {&node_columns_decoder::read_shapes, &node_columns_decoder::read_shape_numbers,
                    &node_columns_decoder::read_sequences, &node_columns_decoder::read_times})
    if (auto done = (this->*read)(chunk); !done) return done.error();
  std::uint64_t farthest = 0;
  for (const auto& shape : shapes_)
    if (!shape.after.empty()) farthest = std::max<std::uint64_t>(farthest, shape.after.back());
  for (std::uint32_t i = 0; i < chunk.count && chunk.first + std::uint64_t{i} < farthest; ++i) {
    const auto& after = shapes_[shape_[i]].after;
    if (!after.empty() && after.back() > chunk.first + std::uint64_t{i})
      return disbelieved("an edge from before the rank's first node");
  }
  return node_columns{rank_id{chunk.rank}, chunk.first,  chunk.count, shapes_, shape_,
                      sequence_,           duration_ns_, gap_ns_};
}

}  // namespace troupe
