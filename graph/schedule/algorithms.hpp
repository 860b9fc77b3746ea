// algorithms: what the algorithms' files offer each other and the table of
// collective_algorithm.cpp: each function writes one member's rounds.
//
// `to` has the shape, and the place of the member in the order that the function asks for.
#pragma once

#include "graph/schedule/collective_algorithm.hpp"
#include "graph/schedule/round_writer.hpp"

namespace troupe::rounds {

// Of which nothing is said, the place is the group rank.

void ring_all_reduce(round_writer& to);
void ring_reduce_scatter(round_writer& to);
void ring_all_gather(round_writer& to);
void ring_broadcast(round_writer& to);  ///< places count from the root
void ring_reduce(round_writer& to);     ///< places count from the root

// Places count from the root, or from member 0 where there is none.
void binomial_broadcast(round_writer& to);
void binomial_reduce(round_writer& to);
void binomial_gather(round_writer& to);
void binomial_scatter(round_writer& to);
void binomial_all_reduce(round_writer& to);
void binomial_all_gather(round_writer& to);
void binomial_reduce_scatter(round_writer& to);
void binomial_barrier(round_writer& to);

void recursive_doubling_all_reduce(round_writer& to);
void recursive_doubling_all_gather(round_writer& to);
void recursive_doubling_barrier(round_writer& to);

void halving_doubling_all_reduce(round_writer& to);
void halving_doubling_reduce_scatter(round_writer& to);
void halving_doubling_broadcast(round_writer& to);  ///< places count from the root
void halving_doubling_reduce(round_writer& to);

// `chunk_bytes`: what a message is at most.
void double_tree_all_reduce(round_writer& to, std::uint64_t chunk_bytes);
void double_tree_broadcast(round_writer& to, std::uint64_t chunk_bytes);  ///< from the root
void double_tree_reduce(round_writer& to, std::uint64_t chunk_bytes);     ///< from the root

void dissemination_barrier(round_writer& to);

void bruck_all_gather(round_writer& to);
void bruck_all_to_all(round_writer& to);  ///< counts are uniform

void pairwise_all_to_all(round_writer& to);
void pairwise_reduce_scatter(round_writer& to);

// Places count from the root, or from member 0 where there is none.
void linear_all_to_all(round_writer& to);
void linear_all_gather(round_writer& to);
void linear_all_reduce(round_writer& to);
void linear_reduce_scatter(round_writer& to);
void linear_broadcast(round_writer& to);
void linear_reduce(round_writer& to);
void linear_gather(round_writer& to);
void linear_scatter(round_writer& to);
void linear_barrier(round_writer& to);

// Of an all_to_all: the part for a member, the one from it, the member's own one. An empty part is
// no message where the counts are given.
void give_part(round_writer& to, std::uint32_t place);
void get_part(round_writer& to, std::uint32_t place);
void keep_own_part(round_writer& to);  ///< a round

}  // namespace troupe::rounds
