// round_writer: writes a member's program in rounds: a step waits for all steps of the round
// before.
//
// Peers and parts are given as places: 0 to members - 1, `first` being the group rank of place 0.
// A range of places wraps as the members do. Not here: which rounds there are (the algorithms).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/schedule/collective_shape.hpp"
#include "graph/schedule/transfer_program.hpp"

namespace troupe {

class round_writer {
 public:
  round_writer(const collective_shape& of, std::uint32_t self, std::uint32_t first,
               transfer_program& to)
      : shape(of),
        members(of.members),
        place((self + of.members - first) % of.members),
        program(to),
        first_(first) {}

  const collective_shape& shape;
  const std::uint32_t members, place;  ///< place: this member's
  transfer_program& program;           ///< for steps that do not come in rounds

  /// The member `distance` places further on, or before.
  std::uint32_t next(std::uint32_t distance) const {
    return static_cast<std::uint32_t>((std::uint64_t{place} + distance) % members);
  }
  std::uint32_t previous(std::uint32_t distance) const {
    return static_cast<std::uint32_t>((std::uint64_t{place} + members - distance) % members);
  }

  element_range whole() const { return {vector_name::data, 0, shape.parts.total()}; }
  /// The parts of the members at places [begin, end), which lie behind each other.
  element_range parts_at(std::uint32_t begin, std::uint32_t end) const;
  element_range part_at(std::uint32_t at) const { return parts_at(at, at + 1); }

  void send(std::uint32_t to, element_range what) {
    add(program.send(member_at(to), what, before_));
  }
  void recv(std::uint32_t from, element_range what, combining how = combining::copy) {
    add(program.recv(member_at(from), what, how, before_));
  }
  void local(element_range from, element_range to, combining how = combining::copy) {
    add(program.local(from, to, how, before_));
  }
  /// What comes now waits for what came since the last call.
  void end_round();
  /// The group rank of who is at a place.
  std::uint32_t member_at(std::uint32_t at) const {
    return static_cast<std::uint32_t>((std::uint64_t{at} + first_) % members);
  }
  /// A send and a recv at once, as a round.
  void exchange(std::uint32_t to, element_range given, std::uint32_t from, element_range got,
                combining how = combining::copy) {
    send(to, given);
    recv(from, got, how);
    end_round();
  }

 private:
  void add(std::uint32_t step) { round_.push_back(step); }

  const std::uint32_t first_;
  std::vector<std::uint32_t> before_, round_;
};

}  // namespace troupe
