#include "graph/goal/binary_writer.hpp"

#include <string>
#include <vector>

#include "graph/goal/binary_format.hpp"

namespace troupe::goal {
namespace {

namespace format = binary_format;

/// A piece of the file, filled and handed on.
class piece {
 public:
  explicit piece(buffered_output& to) : to_(to), bytes_(capacity) {}
  ~piece() { flush(); }

  /// Room for `count` bytes, at most 64.
  std::uint8_t* room(std::size_t count) {
    if (used_ + count > capacity) flush();
    used_ += count;
    return bytes_.data() + used_ - count;
  }
  template <class T>
  void put(T value) {
    auto* at = room(sizeof value);
    format::put(at, value);
  }

 private:
  static constexpr std::size_t capacity = 1u << 18;
  void flush() {
    to_.put({reinterpret_cast<const char*>(bytes_.data()), used_});
    used_ = 0;
  }
  buffered_output& to_;
  std::vector<std::uint8_t> bytes_;
  std::size_t used_ = 0;
};

/// How many dependencies each operation of a rank has.
void count_dependencies(const schedule& from, std::uint32_t rank,
                        std::vector<std::uint32_t>& counts) {
  const auto begin = from.first_of(rank), size = from.size_of(rank);
  counts.assign(size, 0);
  for (std::uint32_t i = begin; i < begin + size; ++i)
    for (const auto later : from.dependents(i)) ++counts[later.operation() - begin];
}

std::uint64_t edges_of(const schedule& from, std::uint32_t rank) {
  std::uint64_t edges = 0;
  for (auto i = from.first_of(rank); i < from.first_of(rank + 1); ++i)
    edges += from.dependents(i).size();
  return edges;
}

template <bool is_wide>
void put_header(const schedule& from, piece& to) {
  to.put(is_wide ? format::wide_magic : format::txt2bin_magic);
  if constexpr (is_wide) to.put(format::wide_version);
  to.put(from.ranks());
  if constexpr (is_wide) {
    to.put(from.cpu_max());
    to.put(from.nic_max());
  } else {
    to.put(static_cast<std::uint8_t>(from.cpu_max()));
    to.put(static_cast<std::uint8_t>(from.nic_max()));
  }
}

void put_places(const schedule& from, const format::layout& layout, piece& to) {
  std::vector<std::uint32_t> counts;
  std::uint64_t at = layout.header_bytes - format::offset_base + std::uint64_t{16} * from.ranks();
  for (std::uint32_t rank = 0; rank < from.ranks(); ++rank) {
    count_dependencies(from, rank, counts);
    std::uint64_t roots = 0;
    for (const auto count : counts) roots += count == 0;
    to.put(at);
    at +=
        8 + 4 * roots + std::uint64_t{layout.node_bytes} * counts.size() + 4 * edges_of(from, rank);
    to.put(at);
  }
}

template <bool is_wide>
void put_rank(const schedule& from, std::uint32_t rank, std::vector<std::uint32_t>& counts,
              piece& to) {
  const auto begin = from.first_of(rank), size = from.size_of(rank);
  count_dependencies(from, rank, counts);
  std::uint32_t roots = 0;
  for (const auto count : counts) roots += count == 0;
  to.put(size);
  to.put(roots);
  for (std::uint32_t i = 0; i < size; ++i)
    if (counts[i] == 0) to.put(i);
  std::uint32_t appendix = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto& what = from[begin + i];
    const auto dependents = from.dependents(begin + i);
    std::uint32_t on_end = static_cast<std::uint32_t>(dependents.size());
    while (on_end > 0 && dependents[on_end - 1].waits_for_start()) --on_end;
    const auto on_start = static_cast<std::uint32_t>(dependents.size()) - on_end;
    format::put_node<is_wide>(
        to.room(is_wide ? format::wide.node_bytes : format::narrow.node_bytes),
        {.dependencies = counts[i],
         .kind = static_cast<std::uint8_t>(what.kind),
         .peer = what.peer,
         .size = what.size,
         .tag = from.tag(what),
         .cpu = what.cpu,
         .nic = what.nic,
         .end_dependents = on_end,
         .first_end_dependent = appendix,
         .start_dependents = on_start,
         .first_start_dependent = appendix + on_end});
    appendix += on_end + on_start;
  }
  for (std::uint32_t i = 0; i < size; ++i)
    for (const auto later : from.dependents(begin + i)) to.put(later.operation() - begin);
}

template <bool is_wide>
void write(const schedule& from, buffered_output& to) {
  piece bytes(to);
  put_header<is_wide>(from, bytes);
  put_places(from, is_wide ? format::wide : format::narrow, bytes);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t rank = 0; rank < from.ranks() && !to.failed(); ++rank)
    put_rank<is_wide>(from, rank, counts, bytes);
}

}  // namespace

bool fits_txt2bin(const schedule& what) {
  if (what.cpu_max() > 0xff || what.nic_max() > 0xff) return false;
  for (const auto& each : what.operations())
    if (each.has_wide_tag && what.tag(each) != any_tag) return false;
  return true;
}

void write_binary(const schedule& from, buffered_output& to) {
  fits_txt2bin(from) ? write<false>(from, to) : write<true>(from, to);
}

}  // namespace troupe::goal
