#include "graph/goal/text_writer.hpp"

#include <charconv>
#include <string>
#include <vector>

namespace troupe::goal {
namespace {

class line_buffer {
 public:
  explicit line_buffer(buffered_output& to) : to_(to) {}
  ~line_buffer() { flush(); }

  line_buffer& text(std::string_view what) {
    text_ += what;
    return *this;
  }
  line_buffer& number(std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, end);
    return *this;
  }
  void end_line() {
    text_ += '\n';
    if (text_.size() > flush_bytes) flush();
  }

 private:
  static constexpr std::size_t flush_bytes = 1u << 16;
  void flush() {
    to_.put(text_);
    text_.clear();
  }
  buffered_output& to_;
  std::string text_;
};

void write_operation(const schedule& from, const operation& what, line_buffer& to) {
  to.text(to_string(what.kind)).text(" ").number(what.size);
  if (what.kind != operation_kind::calc) {
    to.text(what.kind == operation_kind::send ? "b to " : "b from ");
    what.peer == any_source ? to.text("-1") : to.number(what.peer);
    to.text(" tag ");
    from.tag(what) == any_tag ? to.text("-1") : to.number(from.tag(what));
  }
  if (what.cpu != 0) to.text(" cpu ").number(what.cpu);
  if (what.kind != operation_kind::calc && what.nic != 0) to.text(" nic ").number(what.nic);
}

void write_rank(const schedule& from, std::uint32_t rank, std::vector<bool>& is_named,
                line_buffer& to) {
  const auto begin = from.first_of(rank), size = from.size_of(rank);
  is_named.assign(size, false);
  for (std::uint32_t i = 0; i < size; ++i)
    for (const auto later : from.dependents(begin + i))
      is_named[i] = is_named[later.operation() - begin] = true;
  to.text("rank ").number(rank).text(" {").end_line();
  for (std::uint32_t i = 0; i < size; ++i) {
    if (is_named[i]) to.text("l").number(i + 1).text(": ");
    write_operation(from, from[begin + i], to);
    to.end_line();
  }
  for (std::uint32_t i = 0; i < size; ++i)
    for (const auto later : from.dependents(begin + i)) {
      to.text("l").number(later.operation() - begin + 1);
      to.text(later.waits_for_start() ? " irequires l" : " requires l").number(i + 1).end_line();
    }
  to.text("}").end_line();
}

}  // namespace

void write_text(const schedule& from, buffered_output& to) {
  line_buffer lines(to);
  std::vector<bool> is_named;
  lines.text("num_ranks ").number(from.ranks()).end_line();
  for (std::uint32_t rank = 0; rank < from.ranks() && !to.failed(); ++rank) {
    lines.end_line();
    write_rank(from, rank, is_named, lines);
  }
}

}  // namespace troupe::goal
