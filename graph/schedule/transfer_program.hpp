// transfer_program: one member's part in a collective: sends, receives and local steps on ranges of
// its vectors, and which waits for which.
//
// Dependencies point back. Of one pair of members and one lane, the k-th send is for the k-th recv
// of the programs; a member releases them in that order, or at once. A range that goes beyond its
// vector's end goes on at its begin. A send's data is the range's from its release to its end: no
// step that may run meanwhile changes it. Programs end when every send waits for its recv.
// Memory: one member's steps (48 bytes each) and dependencies (4). Not here: what time a step
// takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// data: what the member gives, and (but for an all_to_all's) gets; result: what an all_to_all
/// gives it; scratch: as long as the steps need it.
enum class vector_name : std::uint8_t { data, result, scratch };

struct element_range {
  vector_name of{};
  std::uint64_t begin{}, count{};
};

enum class step_kind : std::uint8_t { send, recv, local };
/// What happens to the range that a recv or a local step writes.
enum class combining : std::uint8_t { copy, reduce };

struct transfer_step {
  std::uint64_t begin{}, count{};  ///< of the range sent or written
  std::uint64_t bytes{};           ///< send, recv: of the message; local: of what is written
  std::uint64_t from_begin{};      ///< local: where what it reads begins
  std::uint32_t peer{};            ///< send, recv: group rank
  std::uint32_t first_dependency{};
  step_kind kind{};
  combining how{};       ///< recv, local
  vector_name range{};   ///< sent or written
  vector_name from{};    ///< local: read
  std::uint16_t lane{};  ///< send, recv: keeps apart messages of a pair that may overtake
  element_range touched() const { return {range, begin, count}; }
};
static_assert(sizeof(transfer_step) == 48);

class transfer_program {
 public:
  /// For another program, of elements of so many bytes.
  void clear(std::uint32_t element_bytes);

  // Each returns the step's number. `after`: steps that must end first.
  std::uint32_t send(std::uint32_t peer, element_range from, std::span<const std::uint32_t> after,
                     std::uint16_t lane = 0);
  std::uint32_t recv(std::uint32_t peer, element_range to, combining how,
                     std::span<const std::uint32_t> after, std::uint16_t lane = 0);
  /// Combines `to.count` elements from `from.begin` into `to`.
  std::uint32_t local(element_range from, element_range to, combining how,
                      std::span<const std::uint32_t> after);
  /// Of a send or recv, where a protocol puts other bytes on the wire than the elements are.
  void set_bytes(std::uint32_t step, std::uint64_t bytes) { steps_[step].bytes = bytes; }

  std::span<const transfer_step> steps() const { return steps_; }
  std::span<const std::uint32_t> dependencies(std::uint32_t step) const {
    const auto begin = steps_[step].first_dependency;
    const auto end = step + 1 < steps_.size() ? steps_[step + 1].first_dependency
                                              : static_cast<std::uint32_t>(dependencies_.size());
    return {dependencies_.data() + begin, end - begin};
  }

 private:
  std::uint32_t add(transfer_step step, element_range range, std::span<const std::uint32_t> after);

  std::vector<transfer_step> steps_;
  std::vector<std::uint32_t> dependencies_;
  std::uint32_t element_bytes_ = 1;
};

}  // namespace troupe
