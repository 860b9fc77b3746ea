#include "graph/goal/text_reader.hpp"

#include <optional>

#include "graph/goal/label_table.hpp"
#include "graph/goal/schedule_builder.hpp"

namespace troupe::goal {
namespace {

constexpr std::uint64_t keyword(std::string_view word) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < word.size() && i < 8; ++i)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(word[i])) << (8 * i);
  return bits;
}

constexpr operation_kind no_verb{};

operation_kind verb_of(std::string_view word) {
  if (word.size() != 4) return no_verb;
  switch (text_scanner::packed(word)) {
    case keyword("calc"):
      return operation_kind::calc;
    case keyword("send"):
      return operation_kind::send;
    case keyword("recv"):
      return operation_kind::recv;
    default:
      return no_verb;
  }
}

class reading {
 public:
  explicit reading(const input_file& from) : scanner_(from) {}

  /// What could be read; the schedule is whole only if there are no problems.
  result<void> read_file();
  schedule take() { return builder_.finish(); }
  std::vector<text_problem>& problems() { return problems_; }
  const result<void>& file_status() const { return scanner_.status(); }

 private:
  using number = text_scanner::number;

  bool fail(std::string text) { return fail_at(scanner_.position(), std::move(text)); }
  bool fail_at(text_position where, std::string text) {
    if (problems_.size() < text_problems_max) problems_.push_back({where, std::move(text)});
    return false;
  }
  bool expected(const char* what) {
    return fail(std::string("expected ") + what + ", found " + scanner_.found());
  }
  bool expect_word(const char* word);
  bool expect_number(const char* what, std::uint64_t max, std::uint64_t& value);
  bool read_header();
  bool read_rank_header(std::uint32_t rank);
  bool read_rank_body();
  bool read_statement();
  bool read_operation(operation_kind verb);
  bool read_peer(operation_description& made);
  bool read_options(operation_description& made);
  bool read_tag(operation_description& made);
  bool read_dependency(std::string_view later, text_position where);
  bool has_ended_statement();

  text_scanner scanner_;
  schedule_builder builder_;
  label_table labels_;
  std::vector<text_problem> problems_;
  std::uint32_t ranks_ = 0;
  bool is_lost_ = false;  // what is behind would only mislead
};

bool reading::expect_word(const char* word) {
  scanner_.skip_blanks();
  const auto taken = scanner_.take_word();
  if (taken == word) return true;
  scanner_.put_back(taken);
  return expected(word);
}

bool reading::expect_number(const char* what, std::uint64_t max, std::uint64_t& value) {
  scanner_.skip_blanks();
  const auto where = scanner_.position();
  switch (scanner_.take_number(value)) {
    case number::none:
      return expected(what);
    case number::fits:
      if (value <= max) return true;
      [[fallthrough]];
    case number::overflows:
      break;
  }
  return fail_at(where,
                 std::string("expected ") + what + ", found a number above " + std::to_string(max));
}

bool reading::read_header() {
  scanner_.skip_lines();
  std::uint64_t ranks = 0;
  if (!expect_word("num_ranks")) return false;
  scanner_.skip_blanks();
  const auto where = scanner_.position();
  if (!expect_number("the number of ranks", ranks_max, ranks)) return false;
  if (ranks == 0) return fail_at(where, "expected at least one rank, found 0");
  ranks_ = static_cast<std::uint32_t>(ranks);
  return true;
}

bool reading::read_rank_header(std::uint32_t rank) {
  scanner_.skip_lines();
  const auto name = "'rank " + std::to_string(rank) + " {'";
  const auto where = scanner_.position();
  const auto wrong = [&](const std::string& found) {
    return fail_at(where, "expected " + name + " (num_ranks is " + std::to_string(ranks_)
                              + "), found " + found);
  };
  const auto word = scanner_.take_word();
  if (word != "rank") {
    scanner_.put_back(word);
    return wrong(scanner_.found());
  }
  std::uint64_t found = 0;
  if (!expect_number("the rank's number", ranks_max, found)) return false;
  if (found != rank) return wrong("rank " + std::to_string(found));
  scanner_.skip_lines();
  return scanner_.take('{') || expected("'{'");
}

/// Statements up to the closing brace. False when nothing behind can be understood.
bool reading::read_rank_body() {
  builder_.begin_rank();
  labels_.clear();
  for (;;) {
    scanner_.skip_lines();
    if (scanner_.take('}')) return true;
    if (scanner_.at_end()) return expected("a statement or '}'");
    if (read_statement()) continue;
    if (is_lost_ || problems_.size() >= text_problems_max) return false;
    scanner_.skip_rest_of_line();
  }
}

bool reading::has_ended_statement() {
  scanner_.skip_blanks();
  return scanner_.peek() == '\n' || scanner_.peek() == '}' || scanner_.at_end();
}

bool reading::read_statement() {
  const auto where = scanner_.position();
  auto word = scanner_.take_word();
  if (word.empty()) return expected("a label, calc, send, recv or '}'");
  if (word.size() >= text_scanner::token_bytes_max - 8)
    return fail_at(where, "expected a label of fewer than 1000 characters");
  // Usually the next character tells a label; what stands apart is looked at without the block.
  if (scanner_.peek() == ' ' || scanner_.peek() == '\t' || scanner_.peek() == '/') {
    const auto verb = verb_of(word);
    const std::string name(word);  // the block may move
    scanner_.skip_blanks();
    if (name == "rank" && text_scanner::is_digit(scanner_.peek())) {
      is_lost_ = true;
      return fail_at(where, "expected '}' before the next rank");
    }
    if (scanner_.peek() != ':')
      return verb != no_verb ? read_operation(verb) : read_dependency(name, where);
    if (!labels_.add(name, builder_.rank_size()))
      return fail_at(where, "label " + name + " is there already in this rank");
  } else if (scanner_.peek() == ':') {
    if (!labels_.add(word, builder_.rank_size()))
      return fail_at(where, "label " + std::string(word) + " is there already in this rank");
  } else {
    return expected("':' behind a label, or a statement");
  }
  scanner_.take(':');
  scanner_.skip_blanks();
  word = scanner_.take_word();
  if (const auto verb = verb_of(word); verb != no_verb) return read_operation(verb);
  scanner_.put_back(word);
  builder_.add({.kind = operation_kind::calc, .size = 0});  // its label may be referred to
  return expected("calc, send or recv");
}

bool reading::read_operation(operation_kind verb) {
  operation_description made{.kind = verb, .size = 0, .peer = 0, .tag = 0, .cpu = 0, .nic = 0};
  const bool is_calc = verb == operation_kind::calc;
  const bool is_right =
      expect_number(is_calc ? "a number of ns" : "a number of bytes", ~std::uint64_t{0}, made.size)
      && (is_calc || read_peer(made)) && read_options(made);
  builder_.add(made);  // its label may be referred to
  return is_right;
}

bool reading::read_peer(operation_description& made) {
  const bool is_send = made.kind == operation_kind::send;
  scanner_.skip_blanks();
  if (!scanner_.take('b') || text_scanner::is_word(scanner_.peek()))
    return expected("'b' behind the number of bytes");
  if (!expect_word(is_send ? "to" : "from")) return false;
  scanner_.skip_blanks();
  const auto where = scanner_.position();
  std::uint64_t peer = 0;
  if (!is_send && scanner_.take('-')) {
    if (scanner_.take_number(peer) != number::fits || peer != 1)
      return fail_at(where, "expected a rank, or -1 for any");
    made.peer = any_source;
    return true;
  }
  if (!expect_number(is_send ? "a rank" : "a rank, or -1 for any", ~std::uint64_t{0}, peer))
    return false;
  if (peer >= ranks_)
    return fail_at(where, "expected a rank below " + std::to_string(ranks_) + ", found "
                              + std::to_string(peer));
  made.peer = static_cast<std::uint32_t>(peer);
  return true;
}

bool reading::read_tag(operation_description& made) {
  const bool may_be_any = made.kind == operation_kind::recv;
  scanner_.skip_blanks();
  const auto where = scanner_.position();
  if (may_be_any && scanner_.take('-')) {
    std::uint64_t one = 0;
    if (scanner_.take_number(one) != number::fits || one != 1)
      return fail_at(where, "expected a tag, or -1 for any");
    made.tag = any_tag;
    return true;
  }
  return expect_number(may_be_any ? "a tag, or -1 for any" : "a tag", any_tag - 1, made.tag);
}

bool reading::read_options(operation_description& made) {
  const bool is_calc = made.kind == operation_kind::calc;
  bool has_tag = is_calc, has_cpu = false, has_nic = is_calc;
  while (!has_ended_statement()) {
    const auto word = scanner_.take_word();
    std::uint64_t value = 0;
    if (word == "tag" && !has_tag) {
      if (!read_tag(made)) return false;
      has_tag = true;
    } else if (word == "cpu" && !has_cpu) {
      if (!expect_number("a cpu", 0xffff, value)) return false;
      made.cpu = static_cast<std::uint16_t>(value);
      has_cpu = true;
    } else if (word == "nic" && !has_nic) {
      if (!expect_number("a nic", 0xffff, value)) return false;
      made.nic = static_cast<std::uint16_t>(value);
      has_nic = true;
    } else {
      scanner_.put_back(word);
      std::string left;
      for (const auto& [name, has] :
           {std::pair{"tag", has_tag}, {"cpu", has_cpu}, {"nic", has_nic}})
        if (!has) left += std::string(name) + ", ";
      return expected((left + "the end of the line or '}'").c_str());
    }
  }
  return true;
}

bool reading::read_dependency(std::string_view later, text_position where) {
  const auto word = scanner_.take_word();
  const bool on_start = word == "irequires";
  if (!on_start && word != "requires") {
    scanner_.put_back(word);
    return expected("':', requires or irequires");
  }
  const auto waiting = labels_.find(later);
  if (!waiting)
    return fail_at(where, "expected a label of this rank, defined above, found '"
                              + std::string(later.substr(0, 32)) + "'");
  scanner_.skip_blanks();
  const auto earlier_at = scanner_.position();
  const auto earlier = scanner_.take_word();
  if (earlier.empty()) return expected("a label");
  const auto awaited = labels_.find(earlier);
  if (!awaited)
    return fail_at(earlier_at, "expected a label of this rank, defined above, found '"
                                   + std::string(earlier.substr(0, 32)) + "'");
  builder_.depend(*waiting, *awaited, on_start);
  return has_ended_statement() || expected("the end of the line");
}

result<void> reading::read_file() {
  if (!read_header()) return {};
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!read_rank_header(rank) || !read_rank_body()) return {};
    if (auto ended = builder_.end_rank(); !ended) return ended.error();
  }
  scanner_.skip_lines();
  if (!scanner_.at_end())
    expected(("the end of the file behind rank " + std::to_string(ranks_ - 1)).c_str());
  return {};
}

}  // namespace

result<schedule> read_text(const input_file& from, std::vector<text_problem>* problems) {
  reading whole(from);
  auto done = whole.read_file();
  if (!whole.file_status()) return whole.file_status().error();
  if (!done) return error{done.error().code, from.path() + ": " + done.error().context};
  auto& found = whole.problems();
  if (found.empty()) return whole.take();
  const auto& first = found.front();
  auto text = from.path() + ":" + std::to_string(first.where.line) + ":"
              + std::to_string(first.where.column) + ": " + first.text;
  if (found.size() > 1) text += " (and " + std::to_string(found.size() - 1) + " more)";
  if (problems) *problems = std::move(found);
  return error{errc::bad_input, std::move(text)};
}

}  // namespace troupe::goal
