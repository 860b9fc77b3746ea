#include "tools/network_parameters.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace troupe {
namespace {

constexpr std::uint64_t whole_max = std::uint64_t{1} << 53;
constexpr double fraction_max = 1e9;

error wrong(std::string_view key, const std::string& expected, const std::string& value) {
  return {errc::usage, std::string(key) + ": expected " + expected + ", found '" + value + "'"};
}

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

result<void> set(std::uint64_t& to, std::string_view key, const std::string& value) {
  const auto number = number_in<std::uint64_t>(value);
  if (!number || *number > whole_max) return wrong(key, "a whole number up to 2^53", value);
  to = *number;
  return {};
}

result<void> set(double& to, std::string_view key, const std::string& value) {
  const auto number = number_in<double>(value);
  if (!number || !std::isfinite(*number) || *number < 0 || *number > fraction_max)
    return wrong(key, "a number from 0 to 1e9", value);
  to = *number;
  return {};
}

template <class Choice, std::size_t count>
result<void> set(Choice& to, std::string_view key, const std::string& value,
                 const std::string_view (&names)[count]) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    if (value == names[i]) {
      to = static_cast<Choice>(i);
      return {};
    }
    known += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + std::string(names[i]);
  }
  return wrong(key, known, value);
}

}  // namespace

result<void> set_parameter(loggops_parameters& of, std::string_view key, const std::string& value) {
  if (key == "L" || key == "latency") return set(of.latency_ns, key, value);
  if (key == "o" || key == "overhead") return set(of.overhead_ns, key, value);
  if (key == "g" || key == "gap") return set(of.gap_ns, key, value);
  if (key == "G" || key == "gap-per-byte") return set(of.gap_per_byte_ns, key, value);
  if (key == "O" || key == "overhead-per-byte") return set(of.overhead_per_byte_ns, key, value);
  if (key == "S" || key == "eager-limit") return set(of.eager_bytes_max, key, value);
  if (key == "receiver") return set(of.receiver, key, value, receiver_names);
  if (key == "matching") return set(of.matching, key, value, matching_names);
  if (key == "noise") return set(of.noise, key, value);
  if (key == "seed") return set(of.seed, key, value);
  std::string known;
  for (const auto& each : parameter_names)
    known += (known.empty() ? "" : ", ") + std::string(*each.letter ? each.letter : each.name);
  return error{errc::usage, "there is no parameter " + std::string(key) + " (" + known + ")"};
}

result<loggops_parameters> preset_parameters(const std::string& name) {
  if (const auto found = loggops_preset(name)) return *found;
  std::string known;
  for (const auto& each : loggops_preset_names()) known += (known.empty() ? "" : ", ") + each;
  return error{errc::usage, "there is no preset " + name + " (" + known + ")"};
}

}  // namespace troupe
