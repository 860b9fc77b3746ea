// linear: everybody sends what it has straight to whom it is for, all at once; an all_reduce and a
// barrier by way of member 0.
//
// Source: the basic algorithms of MPI libraries, as in Thakur, Rabenseifner, Gropp (2005),
// doi:10.1177/1094342005051521; NCCL programs' all_to_all, gather and scatter are this, as groups
// of sends and receives. An all_to_all with counts of its own sends nothing where a count is 0.
#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {
namespace {

/// Of a vector that is cut by its own counts, what is empty is no message.
bool is_sent(const round_writer& to, std::uint64_t count) {
  const auto& parts = to.shape.parts;
  return count > 0 || (parts.is_even() && parts.total() == 0);
}

}  // namespace

void give_part(round_writer& to, std::uint32_t place) {
  const auto& parts = to.shape.parts;
  if (is_sent(to, parts.count(place))) to.send(place, to.part_at(place));
}

void get_part(round_writer& to, std::uint32_t place) {
  const auto& incoming = to.shape.incoming;
  if (is_sent(to, incoming.count(place)))
    to.recv(place, {vector_name::result, incoming.begin(place), incoming.count(place)});
}

void keep_own_part(round_writer& to) {
  const auto& incoming = to.shape.incoming;
  to.local(to.part_at(to.place),
           {vector_name::result, incoming.begin(to.place), incoming.count(to.place)});
  to.end_round();
}

void linear_all_to_all(round_writer& to) {
  keep_own_part(to);
  for (std::uint32_t k = 1; k < to.members; ++k) {
    give_part(to, to.next(k));
    get_part(to, to.previous(k));
  }
  to.end_round();
}

void linear_all_gather(round_writer& to) {
  for (std::uint32_t k = 1; k < to.members; ++k) {
    to.send(to.next(k), to.part_at(to.place));
    to.recv(to.previous(k), to.part_at(to.previous(k)));
  }
  to.end_round();
}

void linear_reduce_scatter(round_writer& to) {
  for (std::uint32_t k = 1; k < to.members; ++k) {
    to.send(to.next(k), to.part_at(to.next(k)));
    to.recv(to.previous(k), to.part_at(to.place), combining::reduce);
  }
  to.end_round();
}

void linear_broadcast(round_writer& to) {
  if (to.place != 0)
    to.recv(0, to.whole());
  else
    for (std::uint32_t k = 1; k < to.members; ++k) to.send(k, to.whole());
  to.end_round();
}

void linear_reduce(round_writer& to) {
  if (to.place != 0)
    to.send(0, to.whole());
  else
    for (std::uint32_t k = 1; k < to.members; ++k) to.recv(k, to.whole(), combining::reduce);
  to.end_round();
}

void linear_gather(round_writer& to) {
  if (to.place != 0)
    to.send(0, to.part_at(to.place));
  else
    for (std::uint32_t k = 1; k < to.members; ++k) to.recv(k, to.part_at(k));
  to.end_round();
}

void linear_scatter(round_writer& to) {
  if (to.place != 0)
    to.recv(0, to.part_at(to.place));
  else
    for (std::uint32_t k = 1; k < to.members; ++k) to.send(k, to.part_at(k));
  to.end_round();
}

void linear_all_reduce(round_writer& to) {
  linear_reduce(to);
  linear_broadcast(to);
}

void linear_barrier(round_writer& to) { linear_all_reduce(to); }

}  // namespace troupe::rounds
