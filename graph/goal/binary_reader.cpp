#include "graph/goal/binary_reader.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "graph/goal/binary_format.hpp"
#include "graph/goal/schedule_builder.hpp"

namespace troupe::goal {
namespace {

namespace format = binary_format;

/// The file's bytes at any place; what is read in order is read in large pieces.
class window {
 public:
  static constexpr std::size_t bytes_max = 1u << 18;  ///< of one view

  explicit window(const input_file& from) : from_(from) {}

  /// `count` bytes at `offset`, which the file has.
  result<const std::uint8_t*> view(std::uint64_t offset, std::size_t count) {
    if (offset < begin_ || offset + count > begin_ + held_.size()) {
      const auto size = std::min<std::uint64_t>(std::max(bytes_max, count), from_.size() - offset);
      held_.resize(static_cast<std::size_t>(size));
      begin_ = offset;
      if (auto done = from_.read(offset, held_); !done) return done.error();
    }
    return held_.data() + (offset - begin_);
  }

 private:
  const input_file& from_;
  std::vector<std::uint8_t> held_;
  std::uint64_t begin_ = 0;
};

class reading {
 public:
  explicit reading(const input_file& from)
      : from_(from), head_(from), roots_(from), nodes_(from), ends_(from) {}
  result<schedule> read_file();

 private:
  struct section {
    std::uint64_t begin{}, end{};  // in the file
    std::uint32_t nodes{}, roots{};
    std::uint64_t nodes_at{}, appendix_at{};
    std::uint32_t appendix{};  // entries
  };

  error wrong(const std::string& what) const {
    return {errc::bad_input, from_.path() + ": " + what};
  }
  error wrong_rank(const std::string& what) const {
    return wrong("rank " + std::to_string(rank_) + ": " + what);
  }
  error wrong_node(std::uint32_t node, const std::string& what) const {
    return wrong_rank("operation " + std::to_string(node) + ": " + what);
  }
  result<void> read_header();
  result<void> read_rank();
  result<section> find_section();
  template <bool is_wide>
  result<void> read_nodes(const section& where);
  result<void> check_node(const section& where, std::uint32_t index, const format::node& what);
  result<void> read_dependents(const section& where, std::uint32_t index, std::uint32_t first,
                               std::uint32_t count, bool on_start);
  result<void> check_roots(const section& where);

  const input_file& from_;
  window head_, roots_, nodes_, ends_;
  format::layout layout_ = format::narrow;
  schedule_builder builder_;
  std::uint32_t ranks_ = 0, rank_ = 0;
  std::uint64_t last_end_ = 0;
  std::vector<std::uint32_t> stated_, counted_;  // dependencies of the rank's operations
};

result<void> reading::read_header() {
  if (from_.size() < format::narrow.header_bytes) return wrong("too short for a GOAL binary");
  TROUPE_TRY(narrow, head_.view(0, format::narrow.header_bytes));
  const auto* at = narrow;
  const auto magic = format::get<std::uint64_t>(at);
  if (magic == format::destroyed_magic)
    return wrong("LogGOPSim destroyed this schedule (--save-mem); make it anew");
  if (magic == format::wide_magic) {
    layout_ = format::wide;
    if (from_.size() < layout_.header_bytes) return wrong("too short for a GOAL binary");
    const auto version = format::get<std::uint32_t>(at);
    if (version != format::wide_version)
      return wrong("version " + std::to_string(version) + " of the wide GOAL binary; known is "
                   + std::to_string(format::wide_version));
    TROUPE_TRY(whole, head_.view(12, 4));
    at = whole;
  } else if (magic != format::txt2bin_magic) {
    return wrong("no GOAL binary");
  }
  ranks_ = format::get<std::uint32_t>(at);
  if (ranks_ == 0) return wrong("it says that it has no ranks");
  if (ranks_ > ranks_max || (from_.size() - layout_.header_bytes) / 16 < ranks_)
    return wrong("it says " + std::to_string(ranks_) + " ranks, for which it is too short");
  last_end_ = layout_.header_bytes + std::uint64_t{16} * ranks_;
  return {};
}

result<reading::section> reading::find_section() {
  TROUPE_TRY(place, head_.view(layout_.header_bytes + std::uint64_t{16} * rank_, 16));
  const auto* at = place;
  const auto size = from_.size() - format::offset_base;
  section found;
  found.begin = format::get<std::uint64_t>(at);
  found.end = format::get<std::uint64_t>(at);
  if (found.begin > size || found.end > size || found.end < found.begin
      || found.end - found.begin < 8)
    return wrong_rank("its section is not within the file");
  found.begin += format::offset_base;
  found.end += format::offset_base;
  if (found.begin < last_end_) return wrong_rank("its section lies over what is before it");
  last_end_ = found.end;
  TROUPE_TRY(counts, nodes_.view(found.begin, 8));
  at = counts;
  found.nodes = format::get<std::uint32_t>(at);
  found.roots = format::get<std::uint32_t>(at);
  found.nodes_at = found.begin + 8 + std::uint64_t{4} * found.roots;
  found.appendix_at = found.nodes_at + std::uint64_t{layout_.node_bytes} * found.nodes;
  if (found.roots > found.nodes || found.appendix_at > found.end
      || (found.end - found.appendix_at) % 4 != 0
      || (found.end - found.appendix_at) / 4 > ~std::uint32_t{0})
    return wrong_rank("it says " + std::to_string(found.nodes) + " operations and "
                      + std::to_string(found.roots) + " roots, which do not fit its section");
  found.appendix = static_cast<std::uint32_t>((found.end - found.appendix_at) / 4);
  return found;
}

result<void> reading::check_node(const section& where, std::uint32_t index,
                                 const format::node& what) {
  const auto kind = static_cast<operation_kind>(what.kind);
  if (what.kind < 1 || what.kind > 3)
    return wrong_node(index, "its type is " + std::to_string(what.kind)
                                 + "; there are 1 (send), 2 (recv) and 3 (calc)");
  if (kind != operation_kind::calc && what.peer >= ranks_
      && (kind == operation_kind::send || what.peer != any_source))
    return wrong_node(
        index, "its peer is rank " + std::to_string(what.peer) + " of " + std::to_string(ranks_));
  if (kind == operation_kind::send && what.tag == any_tag)
    return wrong_node(index, "a send has no tag");
  const auto fits = [&](std::uint32_t first, std::uint32_t count) {
    return count == 0 || std::uint64_t{first} + count <= where.appendix;
  };
  if (!fits(what.first_end_dependent, what.end_dependents)
      || !fits(what.first_start_dependent, what.start_dependents))
    return wrong_node(index, "its dependents are not within the appendix");
  return {};
}

result<void> reading::read_dependents(const section& where, std::uint32_t index,
                                      std::uint32_t first, std::uint32_t count, bool on_start) {
  constexpr std::uint32_t piece = window::bytes_max / 4;
  for (std::uint32_t done = 0; done < count; done += std::min(piece, count - done)) {
    const auto now = std::min(piece, count - done);
    TROUPE_TRY(entries, ends_.view(where.appendix_at + std::uint64_t{4} * (first + done),
                                   std::size_t{4} * now));
    const auto* at = entries;
    for (std::uint32_t i = 0; i < now; ++i) {
      const auto later = format::get<std::uint32_t>(at);
      if (later >= where.nodes)
        return wrong_node(index, "its dependent is operation " + std::to_string(later) + " of "
                                     + std::to_string(where.nodes));
      builder_.depend(later, index, on_start);
      ++counted_[later];
    }
  }
  return {};
}

template <bool is_wide>
result<void> reading::read_nodes(const section& where) {
  const auto piece = static_cast<std::uint32_t>(window::bytes_max / layout_.node_bytes);
  std::uint64_t dependents = 0;
  for (std::uint32_t done = 0; done < where.nodes; done += std::min(piece, where.nodes - done)) {
    const auto now = std::min(piece, where.nodes - done);
    TROUPE_TRY(bytes, nodes_.view(where.nodes_at + std::uint64_t{layout_.node_bytes} * done,
                                  std::size_t{layout_.node_bytes} * now));
    for (std::uint32_t i = 0; i < now; ++i) {
      const auto index = done + i;
      const auto what = format::get_node<is_wide>(bytes + std::size_t{layout_.node_bytes} * i);
      if (auto checked = check_node(where, index, what); !checked) return checked.error();
      const bool is_calc = what.kind == static_cast<std::uint8_t>(operation_kind::calc);
      builder_.add({.kind = static_cast<operation_kind>(what.kind),
                    .size = what.size,
                    .peer = is_calc ? 0 : what.peer,
                    .tag = is_calc ? 0 : what.tag,
                    .cpu = what.cpu,
                    .nic = is_calc ? std::uint16_t{0} : what.nic});
      stated_[index] = what.dependencies;
      dependents += std::uint64_t{what.end_dependents} + what.start_dependents;
      if (dependents > where.appendix)
        return wrong_node(index, "more dependents than the appendix holds");
      if (auto read =
              read_dependents(where, index, what.first_end_dependent, what.end_dependents, false);
          !read)
        return read.error();
      if (auto read = read_dependents(where, index, what.first_start_dependent,
                                      what.start_dependents, true);
          !read)
        return read.error();
    }
  }
  if (dependents != where.appendix)
    return wrong_rank("its appendix holds " + std::to_string(where.appendix)
                      + " dependents, its operations have " + std::to_string(dependents));
  return {};
}

result<void> reading::check_roots(const section& where) {
  std::uint32_t next = 0;
  const auto skip = [&] {
    while (next < where.nodes && counted_[next] != 0) ++next;
  };
  for (std::uint32_t i = 0; i < where.nodes; ++i)
    if (stated_[i] != counted_[i])
      return wrong_node(i, "it says that it waits for " + std::to_string(stated_[i])
                               + " others, and waits for " + std::to_string(counted_[i]));
  constexpr std::uint32_t piece = window::bytes_max / 4;
  for (std::uint32_t done = 0; done < where.roots; done += std::min(piece, where.roots - done)) {
    const auto now = std::min(piece, where.roots - done);
    TROUPE_TRY(entries,
               roots_.view(where.begin + 8 + std::uint64_t{4} * done, std::size_t{4} * now));
    const auto* at = entries;
    for (std::uint32_t i = 0; i < now; ++i, ++next) {
      skip();
      if (const auto root = format::get<std::uint32_t>(at); root != next || next >= where.nodes)
        return wrong_rank("operation " + std::to_string(root)
                          + " is said to be a root out of order, or is none");
    }
  }
  skip();
  if (next != where.nodes)
    return wrong_rank("operation " + std::to_string(next) + " is a root and not said to be one");
  return {};
}

result<void> reading::read_rank() {
  TROUPE_TRY(where, find_section());
  builder_.begin_rank();
  stated_.assign(where.nodes, 0);
  counted_.assign(where.nodes, 0);
  auto read = layout_.is_wide ? read_nodes<true>(where) : read_nodes<false>(where);
  if (!read) return read.error();
  if (auto checked = check_roots(where); !checked) return checked.error();
  auto ended = builder_.end_rank();
  if (!ended) return error{ended.error().code, from_.path() + ": " + ended.error().context};
  return {};
}

result<schedule> reading::read_file() {
  if (auto header = read_header(); !header) return header.error();
  for (rank_ = 0; rank_ < ranks_; ++rank_)
    if (auto read = read_rank(); !read) return read.error();
  return builder_.finish();
}

}  // namespace

bool looks_binary(const input_file& file) {
  std::uint64_t magic = 0;
  if (file.size() < sizeof magic) return false;
  std::uint8_t bytes[sizeof magic];
  if (!file.read(0, bytes)) return false;
  std::memcpy(&magic, bytes, sizeof magic);
  return magic == binary_format::txt2bin_magic || magic == binary_format::destroyed_magic
         || magic == binary_format::wide_magic;
}

result<schedule> read_binary(const input_file& from) { return reading(from).read_file(); }

}  // namespace troupe::goal
