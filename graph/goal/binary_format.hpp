// binary_format: the numbers of GOAL's binary files, txt2bin's and our wider one; the page of prose
// is docs/goal_format.md.
//
// Little endian, packed. Offsets in a file count from byte 8.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "graph/goal/schedule.hpp"

namespace troupe::goal::binary_format {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t txt2bin_magic = 4223, destroyed_magic = 2342;
constexpr std::uint64_t wide_magic = 0x4c414f4745505254;  // "TRPEGOAL"
constexpr std::uint32_t wide_version = 1;
constexpr std::uint64_t offset_base = 8;
constexpr std::uint32_t narrow_any = ~std::uint32_t{0};

/// What differs between the two.
struct layout {
  bool is_wide;
  std::uint32_t header_bytes, node_bytes;
};
constexpr layout narrow{false, 14, 39}, wide{true, 20, 45};

/// A node as it stands in a file, in either width.
struct node {
  std::uint32_t dependencies{};
  std::uint8_t kind{};
  std::uint32_t peer{};
  std::uint64_t size{}, tag{};
  std::uint16_t cpu{}, nic{};
  std::uint32_t end_dependents{}, first_end_dependent{};
  std::uint32_t start_dependents{}, first_start_dependent{};
};

template <class T>
T get(const std::uint8_t*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

template <class T>
void put(std::uint8_t*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

template <bool is_wide>
node get_node(const std::uint8_t* at) {
  node got;
  got.dependencies = get<std::uint32_t>(at);
  got.kind = get<std::uint8_t>(at);
  got.peer = get<std::uint32_t>(at);
  got.size = get<std::uint64_t>(at);
  if constexpr (is_wide) {
    got.tag = get<std::uint64_t>(at);
    got.cpu = get<std::uint16_t>(at);
    got.nic = get<std::uint16_t>(at);
  } else {
    const auto tag = get<std::uint32_t>(at);
    got.tag = tag == narrow_any ? any_tag : tag;
    got.cpu = get<std::uint8_t>(at);
    got.nic = get<std::uint8_t>(at);
  }
  got.end_dependents = get<std::uint32_t>(at);
  got.first_end_dependent = get<std::uint32_t>(at);
  got.start_dependents = get<std::uint32_t>(at);
  got.first_start_dependent = get<std::uint32_t>(at);
  return got;
}

template <bool is_wide>
void put_node(std::uint8_t* at, const node& what) {
  put(at, what.dependencies);
  put(at, what.kind);
  put(at, what.peer);
  put(at, what.size);
  if constexpr (is_wide) {
    put(at, what.tag);
    put(at, what.cpu);
    put(at, what.nic);
  } else {
    put(at, static_cast<std::uint32_t>(what.tag));  // any_tag becomes narrow_any
    put(at, static_cast<std::uint8_t>(what.cpu));
    put(at, static_cast<std::uint8_t>(what.nic));
  }
  put(at, what.end_dependents);
  put(at, what.first_end_dependent);
  put(at, what.start_dependents);
  put(at, what.first_start_dependent);
}

}  // namespace troupe::goal::binary_format
