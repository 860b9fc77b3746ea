// calls: the communication calls that the tests of actors/ make, by name.
#pragma once

#include "messages/collective.hpp"

namespace troupe::calls {

inline collective_call all_reduce(std::uint64_t count, element_type type = element_type::i64,
                                  reduction reduce = reduction::sum) {
  return {.op = operation::all_reduce, .type = type, .reduce = reduce, .count = count};
}
inline collective_call reduce(std::uint64_t count, std::int32_t root,
                              element_type type = element_type::i64) {
  return {.op = operation::reduce,
          .type = type,
          .reduce = reduction::sum,
          .count = count,
          .root = root};
}
inline collective_call reduce_scatter(std::uint64_t count, element_type type = element_type::i64) {
  return {.op = operation::reduce_scatter, .type = type, .reduce = reduction::sum, .count = count};
}
/// broadcast, gather, scatter, all_gather, barrier: what has no more to say.
inline collective_call plain(operation op, std::uint64_t count, std::int32_t root = 0,
                             element_type type = element_type::i64) {
  return {.op = op, .type = type, .count = count, .root = root};
}
inline collective_call barrier() { return {.op = operation::barrier}; }
inline collective_call all_to_all(std::vector<std::uint64_t> send, std::vector<std::uint64_t> recv,
                                  element_type type = element_type::i64) {
  collective_call call{.op = operation::all_to_all, .type = type};
  for (auto count : send) call.count += count;
  call.send_counts = std::move(send);
  call.recv_counts = std::move(recv);
  return call;
}
inline collective_call send(std::int32_t to, std::uint64_t count, std::int32_t tag = 0,
                            element_type type = element_type::i64) {
  return {.op = operation::send, .type = type, .count = count, .root = to, .tag = tag};
}
inline collective_call recv(std::int32_t from, std::uint64_t count, std::int32_t tag = 0,
                            element_type type = element_type::i64) {
  return {.op = operation::recv, .type = type, .count = count, .root = from, .tag = tag};
}

}  // namespace troupe::calls
