#include "graph/schedule/transfer_program.hpp"

#include "messages/assert.hpp"

namespace troupe {

void transfer_program::clear(std::uint32_t element_bytes) {
  steps_.clear();
  dependencies_.clear();
  element_bytes_ = element_bytes;
}

std::uint32_t transfer_program::add(transfer_step step, element_range range,
                                    std::span<const std::uint32_t> after) {
  const auto number = static_cast<std::uint32_t>(steps_.size());
  step.range = range.of;
  step.begin = range.begin;
  step.count = range.count;
  step.bytes = range.count * element_bytes_;
  step.first_dependency = static_cast<std::uint32_t>(dependencies_.size());
  for (const auto earlier : after) {
    TROUPE_ASSERT(earlier < number, earlier, number);
    dependencies_.push_back(earlier);
  }
  steps_.push_back(step);
  return number;
}

std::uint32_t transfer_program::send(std::uint32_t peer, element_range from,
                                     std::span<const std::uint32_t> after, std::uint16_t lane) {
  return add({.peer = peer, .kind = step_kind::send, .lane = lane}, from, after);
}

std::uint32_t transfer_program::recv(std::uint32_t peer, element_range to, combining how,
                                     std::span<const std::uint32_t> after, std::uint16_t lane) {
  return add({.peer = peer, .kind = step_kind::recv, .how = how, .lane = lane}, to, after);
}

std::uint32_t transfer_program::local(element_range from, element_range to, combining how,
                                      std::span<const std::uint32_t> after) {
  return add({.from_begin = from.begin, .kind = step_kind::local, .how = how, .from = from.of}, to,
             after);
}

}  // namespace troupe
