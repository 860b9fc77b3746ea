// schedule: a GOAL program in memory: for each rank sends, receives and calculations, and what
// waits for what among them.
//
// Operations are numbered through all ranks, a rank's in the order of its file. An operation is 32
// bytes, an edge 4. Invariants: a dependency never leaves its rank; peers are ranks of the
// schedule, or any_source of a recv. Limits: operations_max, dependencies_max.
// Not here: the files (text_reader.hpp, binary_reader.hpp); what an operation costs (net/).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/large_array.hpp"
#include "messages/error.hpp"

namespace troupe::goal {

/// The numbers are the binary format's.
enum class operation_kind : std::uint8_t { send = 1, recv = 2, calc = 3 };
const char* to_string(operation_kind kind);

constexpr std::uint32_t any_source = ~std::uint32_t{0};
constexpr std::uint64_t any_tag = ~std::uint64_t{0};
constexpr std::uint64_t operations_max = (std::uint64_t{1} << 28) - 2;
constexpr std::uint64_t dependencies_max = (std::uint64_t{1} << 32) - 2;
constexpr std::uint32_t ranks_max = (std::uint32_t{1} << 31) - 2;

struct operation {
  std::uint64_t size{};             ///< send, recv: bytes; calc: ns
  std::uint32_t peer{};             ///< send: to; recv: from, or any_source; calc: 0
  std::uint32_t narrow_tag{};       ///< see schedule::tag
  std::uint32_t first_dependent{};  ///< see schedule::dependents
  std::uint32_t rank{};
  std::uint16_t cpu{}, nic{};
  operation_kind kind{};
  bool has_wide_tag{};          ///< narrow_tag is an index into the wide tags
  bool has_start_dependents{};  ///< some dependent waits for its start only
};
static_assert(sizeof(operation) == 32);

/// Who waits for an operation: for its end (`A requires B`), or for its start (`A irequires B`).
class dependent {
 public:
  dependent() = default;
  dependent(std::uint32_t operation, bool on_start)
      : bits_(operation | (on_start ? start_bit : 0)) {}
  std::uint32_t operation() const { return bits_ & ~start_bit; }
  bool waits_for_start() const { return (bits_ & start_bit) != 0; }
  friend bool operator==(dependent, dependent) = default;

 private:
  static constexpr std::uint32_t start_bit = std::uint32_t{1} << 31;
  std::uint32_t bits_ = 0;
};

class schedule {
 public:
  schedule() { operations_.push_back({}); }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  /// All ranks' operations.
  std::span<const operation> operations() const {
    return {operations_.data(), operations_.size() - 1};
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(operations_.size() - 1); }
  const operation& operator[](std::uint32_t index) const { return operations_[index]; }
  /// The number of a rank's first operation; of `ranks()`: the number of all.
  std::uint32_t first_of(std::uint32_t rank) const { return first_[rank]; }
  std::uint32_t size_of(std::uint32_t rank) const { return first_[rank + 1] - first_[rank]; }
  /// Those that wait for its end, then those that wait for its start, each in declared order.
  std::span<const dependent> dependents(std::uint32_t index) const {
    const auto begin = operations_[index].first_dependent;
    return {dependents_.data() + begin, operations_[index + 1].first_dependent - begin};
  }
  std::uint64_t dependency_count() const { return dependents_.size(); }
  /// A message's tag; of a recv also any_tag; of a calc 0.
  std::uint64_t tag(const operation& of) const {
    return of.has_wide_tag ? wide_tags_[of.narrow_tag] : of.narrow_tag;
  }
  std::uint16_t cpu_max() const { return cpu_max_; }
  std::uint16_t nic_max() const { return nic_max_; }
  /// Memory that the schedule holds.
  std::uint64_t memory_bytes() const;

 private:
  friend class schedule_builder;
  large_array<operation> operations_;  // the last one only ends the dependents
  std::vector<std::uint32_t> first_{0};
  large_array<dependent> dependents_;
  std::vector<std::uint64_t> wide_tags_;  // distinct
  std::uint16_t cpu_max_ = 0, nic_max_ = 0;
};

/// What a reader or a generator says of one operation.
struct operation_description {
  operation_kind kind{};
  std::uint64_t size{};
  std::uint32_t peer = 0;
  std::uint64_t tag = 0;
  std::uint16_t cpu = 0, nic = 0;
};

/// Is it the same program: ranks, operations, dependencies in their order?
bool equal(const schedule& one, const schedule& other);

}  // namespace troupe::goal
