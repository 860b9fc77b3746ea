#include "messages/journal_codec.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <msgpack.hpp>
#include <string_view>
#include <type_traits>

namespace troupe {

using namespace journal;

namespace {

/// Every record is a small map whose first key is at_ns: by this a torn record is told from another
/// kind of file.
constexpr std::string_view first_key =
    "\xa5"
    "at_ns";
constexpr std::uint32_t pairs_max = 15;

constexpr const char* kind_names[] = {"run_planned", "process_started", "process_ended",
                                      "finding",     "run_ended",       "warning"};
static_assert(std::size(kind_names) == std::variant_size_v<event>);

std::string_view cut(std::string_view text) {
  if (text.size() <= journal_text_bytes_max) return text;
  std::size_t size = journal_text_bytes_max;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

/// Packs the pairs of each kind of record.
class packer {
 public:
  explicit packer(msgpack::sbuffer& to) : to_(to) {}

  void record(const journal::record& from) {
    std::visit(
        [&](const auto& what) {
          to_.pack_map(2 + pairs(what));
          pair("at_ns", from.at_ns);
          pair("kind", std::string_view(kind_names[from.what.index()]));
          pack(what);
        },
        from.what);
  }

 private:
  static std::uint32_t pairs(const run_planned&) { return 7; }
  static std::uint32_t pairs(const process_started&) { return 2; }
  static std::uint32_t pairs(const process_ended&) { return 3; }
  static std::uint32_t pairs(const finding&) { return 5; }
  static std::uint32_t pairs(const run_ended&) { return 2; }
  static std::uint32_t pairs(const warning& what) { return pairs(what.what); }

  void pack(const run_planned& what) {
    pair("program", what.program);
    key("arguments");
    to_.pack_array(static_cast<std::uint32_t>(what.arguments.size()));
    for (auto& argument : what.arguments) to_.pack(cut(argument));
    pair("world", what.world);
    pair("slots", what.slots);
    pair("trace", what.trace);
    pair("pid", what.pid);
    pair("version", what.version);
  }
  void pack(const process_started& what) {
    pair("rank", what.rank.value);
    pair("pid", what.pid);
  }
  void pack(const process_ended& what) {
    pair("rank", what.rank.value);
    pair("pid", what.pid);
    pair("wait_status", what.wait_status);
  }
  void pack(const finding& what) {
    pair("finding", std::string_view(to_string(what.kind)));
    key("ranks");
    to_.pack_array(static_cast<std::uint32_t>(what.ranks.size()));
    for (auto rank : what.ranks) to_.pack(rank.value);
    pair("communicator", what.communicator.value);
    pair("sequence", what.sequence.value);
    pair("text", what.text);
  }
  void pack(const warning& what) { pack(what.what); }
  void pack(const run_ended& what) {
    pair("outcome", std::string_view(to_string(what.outcome)));
    pair("wall_ns", what.wall_ns);
  }

  void key(const char* name) { to_.pack(std::string_view(name)); }
  void pair(const char* name, std::string_view value) {
    key(name);
    to_.pack(cut(value));
  }
  template <class Number>
  requires std::is_integral_v<Number>
  void pair(const char* name, Number value) {
    key(name);
    to_.pack(value);
  }

  msgpack::packer<msgpack::sbuffer> to_;
};

/// A record's pairs by key; the first thing wrong is kept. Keys that nobody asks for are a later
/// version's.
class fields {
 public:
  explicit fields(const msgpack::object& from) : from_(from) {}

  template <class T>
  T get(const char* name) {
    if (auto* value = find(name)) {
      try {
        return value->as<T>();
      } catch (const msgpack::type_error&) {
        complain(name);
      }
    }
    return {};
  }

  std::vector<rank_id> ranks(const char* name) {
    std::vector<rank_id> ranks;
    for (auto number : get<std::vector<std::uint32_t>>(name)) ranks.push_back({number});
    return ranks;
  }

  errc code(const char* name) {
    auto text = get<std::string>(name);
    for (int number = 0; number < 256; ++number) {
      auto code = static_cast<errc>(number);
      if (text == name_of(code)) return code;
    }
    complain(name);
    return {};
  }

  void complain(const char* name) {
    if (wrong_.empty()) wrong_ = std::string("its ") + name + " cannot be believed";
  }
  const std::string& wrong() const { return wrong_; }

 private:
  static std::string_view name_of(errc code) {
    std::string_view name = to_string(code);
    return name == "unknown" ? "" : name;
  }

  const msgpack::object* find(const char* name) {
    auto& map = from_.via.map;
    for (std::uint32_t i = 0; i < map.size; ++i) {
      auto& key = map.ptr[i].key;
      if (key.type == msgpack::type::STR
          && std::string_view(key.via.str.ptr, key.via.str.size) == name)
        return &map.ptr[i].val;
    }
    if (wrong_.empty()) wrong_ = std::string("it has no ") + name;
    return nullptr;
  }

  const msgpack::object& from_;
  std::string wrong_;
};

event read_event(fields& from) {
  auto kind = from.get<std::string>("kind");
  auto pid = [&] { return from.get<std::int32_t>("pid"); };
  auto rank = [&] { return rank_id{from.get<std::uint32_t>("rank")}; };
  if (kind == kind_names[0])
    return run_planned{.program = from.get<std::string>("program"),
                       .arguments = from.get<std::vector<std::string>>("arguments"),
                       .world = from.get<std::uint32_t>("world"),
                       .slots = from.get<std::uint32_t>("slots"),
                       .trace = from.get<std::string>("trace"),
                       .pid = pid(),
                       .version = from.get<std::string>("version")};
  if (kind == kind_names[1]) return process_started{.rank = rank(), .pid = pid()};
  if (kind == kind_names[2])
    return process_ended{
        .rank = rank(), .pid = pid(), .wait_status = from.get<std::int32_t>("wait_status")};
  auto found = [&] {
    return finding{.kind = from.code("finding"),
                   .ranks = from.ranks("ranks"),
                   .communicator = {from.get<std::uint64_t>("communicator")},
                   .sequence = {from.get<std::uint64_t>("sequence")},
                   .text = from.get<std::string>("text")};
  };
  if (kind == kind_names[3]) return found();
  if (kind == kind_names[5]) return warning{found()};
  if (kind == kind_names[4])
    return run_ended{.outcome = from.code("outcome"),
                     .wall_ns = from.get<std::uint64_t>("wall_ns")};
  from.complain("kind");
  return run_ended{};
}

/// Could these bytes be the beginning of a record of ours?
bool begins_a_record(std::span<const char> bytes) {
  if (bytes.empty()) return true;
  auto head = static_cast<unsigned char>(bytes[0]);
  auto rest = std::string_view(bytes.data(), bytes.size()).substr(1, first_key.size());
  return head >= 0x82 && head <= (0x80 | pairs_max) && first_key.starts_with(rest);
}

bool in_place(msgpack::type::object_type, std::size_t, void*) { return true; }

}  // namespace

result<std::string> encode_record(const record& record) {
  auto* planned = std::get_if<run_planned>(&record.what);
  auto* found = std::get_if<finding>(&record.what);
  if (auto* warned = std::get_if<warning>(&record.what)) found = &warned->what;
  if ((planned && planned->arguments.size() > journal_list_length_max)
      || (found && found->ranks.size() > journal_list_length_max))
    return error{errc::bad_input, "a list is too long for a journal"};
  msgpack::sbuffer buffer;
  packer(buffer).record(record);
  return std::string(buffer.data(), buffer.size());
}

result<std::optional<decoded_record>> decode_record(std::span<const char> bytes) {
  if (!begins_a_record(bytes)) return error{errc::bad_input, "it does not begin like one"};
  // A list of n elements takes n bytes at least: one that claims more is torn, and costs no memory.
  auto list_max = std::min<std::size_t>(journal_list_length_max, bytes.size());
  msgpack::unpack_limit limits(list_max, pairs_max, journal_text_bytes_max, 0, 0, 3);
  try {
    std::size_t length = 0;
    auto held = msgpack::unpack(bytes.data(), bytes.size(), length, in_place, nullptr, limits);
    fields from(held.get());
    decoded_record decoded{{from.get<std::uint64_t>("at_ns"), read_event(from)}, length};
    if (!from.wrong().empty()) return error{errc::bad_input, from.wrong()};
    return std::optional(std::move(decoded));
  } catch (const msgpack::insufficient_bytes&) {
    return std::optional<decoded_record>{};
  } catch (const std::exception& thrown) {
    return error{errc::bad_input, std::string("msgpack says ") + thrown.what()};
  }
}

}  // namespace troupe
