#include "interpose/cudart/device_fields.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace troupe {
namespace {

error expected(const std::string& what, const std::string& found) {
  return {errc::bad_input, "expected " + what + ", not \"" + found + "\""};
}

/// The number that the text begins with; what follows it, without blanks between.
bool split_number(const std::string& text, double& number, std::string_view& unit) {
  const auto* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || !std::isfinite(number)) return false;
  const auto* rest = parsed.ptr;
  while (rest != end && *rest == ' ') ++rest;
  unit = {rest, static_cast<std::size_t>(end - rest)};
  return true;
}

using unit = std::pair<std::string_view, double>;
constexpr unit size_units[] = {{"", 1},         {"B", 1},       {"KB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
                               {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr unit no_unit[] = {{"", 1}};

/// A number of units, in a whole number of the first; from `least` to `most`.
template <class Number>
result<void> read(Number& into, const std::string& text, std::span<const unit> units, double scale,
                  double least, double most, const char* what) {
  double number = 0;
  std::string_view found;
  if (!split_number(text, number, found)) return expected(what, text);
  for (const auto& [name, size] : units) {
    if (name != found) continue;
    const auto value = number * size * scale;
    if (!(value >= least && value <= most)) return expected(what, text);
    if constexpr (std::is_integral_v<Number>)
      into = static_cast<Number>(std::llround(value));
    else
      into = value;
    return {};
  }
  return expected(what, text);
}

constexpr double size_max = 0x1p47, int_max = std::numeric_limits<int>::max(), time_max = 1e18;

template <class Number>
result<void> read_size(Number& into, const std::string& text) {
  const double most = std::is_same_v<Number, int> ? int_max : size_max;
  return read(into, text, size_units, 1, 1, most, "a size such as 80GiB");
}
result<void> read_count(int& into, const std::string& text, double most) {
  double whole = 0;
  if (auto wrong = read(whole, text, no_unit, 1, 1, most, "a whole number above 0"); !wrong)
    return wrong;
  if (whole != std::floor(whole)) return expected("a whole number above 0", text);
  into = static_cast<int>(whole);
  return {};
}
result<void> read_rate(double& into, const std::string& text, double scale, const char* what) {
  return read(into, text, no_unit, scale, std::numeric_limits<double>::min(), 1e18, what);
}
result<void> read_amount(double& into, const std::string& text, const char* what) {
  return read(into, text, no_unit, 1, 0, 1e24, what);
}
result<void> read_clock(int& into, const std::string& text) {
  return read(into, text, no_unit, 1000, 1, int_max, "a frequency in MHz");
}
result<void> read_name(std::string& into, const std::string& text) {
  if (text.empty() || text.find('\n') != std::string::npos || text.find('\0') != std::string::npos)
    return expected("a name in one line", text);
  into = text;
  return {};
}
result<void> read_capability(device_profile& of, const std::string& text) {
  const auto wrong = expected("a compute capability such as 9.0", text);
  const auto* const end = text.data() + text.size();
  int major = 0, minor = 0;
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return wrong;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc{} || second.ptr != end || major < 1 || major > 99 || minor < 0
      || minor > 9)
    return wrong;
  of.major = major;
  of.minor = minor;
  return {};
}

// A key, how its value is read, and how it is written.
template <class Of>
struct field {
  const char* key;
  result<void> (*read)(Of&, const std::string&);
  std::string (*written)(const Of&);
};

std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}
std::string text_of(std::uint64_t number) { return std::to_string(number); }
std::string text_of(int number) { return std::to_string(number); }

using words = const std::string&;
using device = device_profile;
constexpr field<device> device_fields[] = {
    {"name", [](device& d, words t) { return read_name(d.product_name, t); },
     [](const device& d) { return d.product_name; }},
    {"compute_capability", read_capability,
     [](const device& d) { return text_of(d.major) + "." + text_of(d.minor); }},
    {"memory", [](device& d, words t) { return read_size(d.memory_bytes, t); },
     [](const device& d) { return text_of(d.memory_bytes); }},
    {"context", [](device& d, words t) { return read_size(d.context_bytes, t); },
     [](const device& d) { return text_of(d.context_bytes); }},
    {"multiprocessors", [](device& d, words t) { return read_count(d.multiprocessors, t, 1e6); },
     [](const device& d) { return text_of(d.multiprocessors); }},
    {"clock_mhz", [](device& d, words t) { return read_clock(d.clock_khz, t); },
     [](const device& d) { return text_of(d.clock_khz / 1e3); }},
    {"memory_clock_mhz", [](device& d, words t) { return read_clock(d.memory_clock_khz, t); },
     [](const device& d) { return text_of(d.memory_clock_khz / 1e3); }},
    {"memory_bus_bits", [](device& d, words t) { return read_count(d.memory_bus_bits, t, 1e6); },
     [](const device& d) { return text_of(d.memory_bus_bits); }},
    {"l2", [](device& d, words t) { return read_size(d.l2_bytes, t); },
     [](const device& d) { return text_of(d.l2_bytes); }},
    {"shared_per_multiprocessor",
     [](device& d, words t) { return read_size(d.shared_bytes_per_multiprocessor, t); },
     [](const device& d) { return text_of(d.shared_bytes_per_multiprocessor); }},
    {"shared_per_block",
     [](device& d, words t) { return read_size(d.shared_bytes_per_block_optin, t); },
     [](const device& d) { return text_of(d.shared_bytes_per_block_optin); }},
    {"memory_gb_per_s",
     [](device& d, words t) { return read_rate(d.memory_bytes_per_ns, t, 1, "GB/s"); },
     [](const device& d) { return text_of(d.memory_bytes_per_ns); }},
    {"host_gb_per_s",
     [](device& d, words t) { return read_rate(d.host_bytes_per_ns, t, 1, "GB/s"); },
     [](const device& d) { return text_of(d.host_bytes_per_ns); }},
    {"tflops", [](device& d, words t) { return read_rate(d.flops_per_ns, t, 1e3, "TFLOPS"); },
     [](const device& d) { return text_of(d.flops_per_ns / 1e3); }},
    {"kernel_time",
     [](device& d, words t) {
       return read(d.kernel_ns, t, time_units, 1, 0, time_max, "a time such as 5us");
     },
     [](const device& d) { return text_of(d.kernel_ns) + "ns"; }},
    {"devices", [](device& d, words t) { return read_count(d.devices_per_host, t, 65536); },
     [](const device& d) { return d.devices_per_host ? text_of(d.devices_per_host) : ""; }},
};

std::string unless_zero(double number) { return number == 0 ? "" : text_of(number); }

constexpr field<kernel_cost> kernel_fields[] = {
    {"name", [](kernel_cost& k, words t) { return read_name(k.name, t); },
     [](const kernel_cost& k) { return k.name; }},
    {"time",
     [](kernel_cost& k, words t) {
       k.time_ns = 0;
       return read(*k.time_ns, t, time_units, 1, 0, time_max, "a time such as 5us");
     },
     [](const kernel_cost& k) { return k.time_ns ? text_of(*k.time_ns) + "ns" : ""; }},
    {"bytes", [](kernel_cost& k, words t) { return read_amount(k.bytes, t, "bytes of a launch"); },
     [](const kernel_cost& k) { return unless_zero(k.bytes); }},
    {"flops",
     [](kernel_cost& k, words t) { return read_amount(k.flops, t, "operations of a launch"); },
     [](const kernel_cost& k) { return unless_zero(k.flops); }},
    {"bytes_per_thread",
     [](kernel_cost& k, words t) {
       return read_amount(k.bytes_per_thread, t, "bytes of a thread");
     },
     [](const kernel_cost& k) { return unless_zero(k.bytes_per_thread); }},
    {"flops_per_thread",
     [](kernel_cost& k, words t) {
       return read_amount(k.flops_per_thread, t, "operations of a thread");
     },
     [](const kernel_cost& k) { return unless_zero(k.flops_per_thread); }},
    {"tflops", [](kernel_cost& k, words t) { return read_rate(k.flops_per_ns, t, 1e3, "TFLOPS"); },
     [](const kernel_cost& k) { return unless_zero(k.flops_per_ns / 1e3); }},
};

template <class Of>
result<void> set(const auto& fields, Of& of, std::string_view key, words value) {
  std::string known;
  for (const auto& one : fields) {
    if (key == one.key) return one.read(of, value);
    known += (known.empty() ? "" : ", ") + std::string(one.key);
  }
  return error{errc::bad_input, "expected one of " + known};
}

template <class Of>
void write(std::string& text, const auto& fields, const Of& of, words prefix) {
  for (const auto& one : fields)
    if (const auto value = one.written(of); !value.empty())
      text += prefix + one.key + "=" + value + "\n";
}

const std::string of_a_kernel = "kernel.";

}  // namespace

result<void> set_device_field(device_profile& of, std::string_view key, const std::string& value) {
  return set(device_fields, of, key, value);
}
result<void> set_kernel_field(kernel_cost& of, std::string_view key, const std::string& value) {
  return set(kernel_fields, of, key, value);
}

result<void> check_kernel(const kernel_cost& of) {
  const bool has_cost = of.bytes + of.flops + of.bytes_per_thread + of.flops_per_thread > 0;
  if (of.name.empty()) return error{errc::bad_input, "expected a name"};
  if (!of.time_ns && !has_cost)
    return error{errc::bad_input, "expected a time, or bytes and flops of a launch or thread"};
  if (of.time_ns && (has_cost || of.flops_per_ns > 0))
    return error{errc::bad_input, "expected a time, or bytes and flops, not both"};
  return {};
}

result<void> check_device(const device_profile& of) {
  if (of.context_bytes < of.memory_bytes) return {};
  return error{errc::bad_input, "memory: expected more than the " + text_of(of.context_bytes)
                                    + " bytes that a context holds (key context)"};
}

std::string to_fields(const device_profile& of) {
  std::string text;
  write(text, device_fields, of, "");
  for (const auto& kernel : of.kernels) write(text, kernel_fields, kernel, of_a_kernel);
  return text;
}

result<device_profile> from_fields(const std::string& text) {
  auto of = device_profiles().front();
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto equals = line.find('=');
    if (equals == std::string::npos) return expected("key=value", line);
    auto key = line.substr(0, equals);
    const auto value = line.substr(equals + 1);
    const bool is_kernels = key.rfind(of_a_kernel, 0) == 0;
    if (is_kernels) key.erase(0, of_a_kernel.size());
    if (is_kernels && key == "name") of.kernels.emplace_back();
    if (is_kernels && of.kernels.empty()) return expected("a kernel's name first", line);
    auto set = is_kernels ? set_kernel_field(of.kernels.back(), key, value)
                          : set_device_field(of, key, value);
    if (!set) return error{set.error().code, key + ": " + set.error().context};
  }
  if (auto checked = check_device(of); !checked) return checked.error();
  return of;
}

}  // namespace troupe
