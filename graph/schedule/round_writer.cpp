#include "graph/schedule/round_writer.hpp"

namespace troupe {

element_range round_writer::parts_at(std::uint32_t begin, std::uint32_t end) const {
  const auto& parts = shape.parts;
  const auto behind = [&](std::uint32_t at) {  // where the parts up to `at` end, unwrapped
    const auto member = std::uint64_t{at} + first_;
    return parts.begin(static_cast<std::uint32_t>(member % members))
           + member / members * parts.total();
  };
  const auto from = behind(begin);
  return {vector_name::data, parts.total() == 0 ? 0 : from % parts.total(), behind(end) - from};
}

// Many become one, so that the next ones do not each wait for all.
void round_writer::end_round() {
  if (round_.empty()) return;
  if (round_.size() > 2)
    round_.assign(1, program.local({vector_name::data, 0, 0}, {vector_name::data, 0, 0},
                                   combining::copy, round_));
  before_.swap(round_);
  round_.clear();
}

}  // namespace troupe
