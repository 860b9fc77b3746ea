#include "graph/schedule/nccl_settings.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace troupe {
namespace {

constexpr const char* function_names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                          "AllReduce"};
constexpr const char* algorithm_names[] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr const char* protocol_names[] = {"LL", "LL128", "Simple"};

constexpr std::uint64_t channels_most = 64;

bool same(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

/// Non-empty pieces between separators, as strtok has them.
std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

/// Its place among the names, or their number.
template <std::size_t N>
std::size_t place_of(std::string_view word, const char* const (&names)[N]) {
  return static_cast<std::size_t>(std::find_if(std::begin(names), std::end(names),
                                               [&](const char* name) { return same(name, word); })
                                  - std::begin(names));
}

template <std::size_t N>
error absent(const std::string& variable, std::string_view word, const char* const (&names)[N]) {
  std::string list;
  for (const auto* name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return {errc::usage, variable + ": there is no " + std::string(word) + " (" + list + ")"};
}

/// "words" or "function:words"; words behind ^ are those that may not.
template <std::size_t N, class Table>
result<void> parse_list(const std::string& variable, std::string_view text,
                        const char* const (&names)[N], Table& allowed) {
  bool is_first = true;
  for (const auto entry : pieces(text, ';')) {
    const auto parts = pieces(entry, ':');
    if (parts.size() > 2 || parts.empty() || (parts.size() == 1 && !is_first))
      return error{errc::usage,
                   variable + ": expected FUNCTION:LIST, found '" + std::string(entry) + "'"};
    is_first = false;
    auto words = parts.back();
    const bool is_without = words.starts_with('^');
    if (is_without) words.remove_prefix(1);
    std::array<bool, N> may;
    may.fill(is_without);
    for (const auto word : pieces(words, ',')) {
      const auto place = place_of(word, names);
      if (place == N) return absent(variable, word, names);
      may[place] = !is_without;
    }
    const auto function = parts.size() == 1 ? nccl_functions : place_of(parts[0], function_names);
    if (parts.size() == 2 && function == nccl_functions)
      return absent(variable, parts[0], function_names);
    for (std::size_t f = 0; f < nccl_functions; ++f)
      if (parts.size() == 1 || f == function)
        std::copy(may.begin(), may.end(), allowed[static_cast<nccl_function>(f)].begin());
  }
  return {};
}

result<std::uint64_t> parse_number(const std::string& variable, const std::string& text,
                                   std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || value > most)
    return error{errc::usage, variable + ": expected a number up to " + std::to_string(most)
                                  + ", found '" + text + "'"};
  return value;
}

}  // namespace

const char* to_string(nccl_function which) {
  return function_names[static_cast<std::size_t>(which)];
}
const char* to_string(nccl_algorithm which) {
  return algorithm_names[static_cast<std::size_t>(which)];
}
const char* to_string(nccl_protocol which) {
  return protocol_names[static_cast<std::size_t>(which)];
}

nccl_settings::nccl_settings() {
  for (auto& of_function : algorithms) of_function.fill(true);
  for (auto& of_function : protocols) of_function.fill(true);
}

result<nccl_settings> parse_nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& environment) {
  nccl_settings made;
  const auto buffer_of = [&](const std::string& name) -> std::uint64_t* {
    if (name == "NCCL_BUFFSIZE") return &made.buffer_bytes[nccl_protocol::simple];
    if (name == "NCCL_LL_BUFFSIZE") return &made.buffer_bytes[nccl_protocol::ll];
    if (name == "NCCL_LL128_BUFFSIZE") return &made.buffer_bytes[nccl_protocol::ll128];
    return nullptr;
  };
  for (const auto& [name, value] : environment) {
    if (name == "NCCL_ALGO") {
      if (auto ok = parse_list(name, value, algorithm_names, made.algorithms); !ok)
        return ok.error();
    } else if (name == "NCCL_PROTO") {
      if (auto ok = parse_list(name, value, protocol_names, made.protocols); !ok) return ok.error();
    } else if (name == "NCCL_MIN_NCHANNELS" || name == "NCCL_MIN_NRINGS") {
      TROUPE_TRY(number, parse_number(name, value, ~std::uint32_t{0}));
      made.channels_min = static_cast<std::uint32_t>(std::min(number, channels_most));
    } else if (name == "NCCL_MAX_NCHANNELS" || name == "NCCL_MAX_NRINGS") {
      TROUPE_TRY(number, parse_number(name, value, ~std::uint32_t{0}));
      made.channels_max =
          static_cast<std::uint32_t>(std::clamp<std::uint64_t>(number, 1, channels_most));
    } else if (auto* buffer = buffer_of(name)) {
      TROUPE_TRY(number, parse_number(name, value, std::uint64_t{1} << 40));
      if (number < 64 << 10)
        return error{errc::usage, name + ": expected 65536 bytes or more, found " + value};
      *buffer = number;
    }
  }
  return made;
}

}  // namespace troupe
