// troupe_client.h's functions: pointers and numbers to rank_client's values and back.
#include "interpose/client/troupe_client.h"
#include "interpose/client/launched_rank.hpp"

#include <optional>
#include <string>
#include <utility>

#include "interpose/client/c_status.hpp"
#include "interpose/client/this_rank.hpp"

using namespace troupe;

namespace {

const error not_connected{errc::usage, "this process is not connected to a run of troupe"};

std::optional<collective_call> call_from(const troupe_call& given, std::uint32_t size) {
  if (given.op >= operation_count || given.type >= element_type_count
      || given.reduction >= reduction_count)
    return std::nullopt;
  collective_call call{static_cast<operation>(given.op),
                       static_cast<element_type>(given.type),
                       static_cast<reduction>(given.reduction),
                       given.count,
                       given.root,
                       given.tag,
                       {},
                       {},
                       given.batched != 0};
  if (given.send_counts) call.send_counts.assign(given.send_counts, given.send_counts + size);
  if (given.recv_counts) call.recv_counts.assign(given.recv_counts, given.recv_counts + size);
  return call;
}

}  // namespace

int troupe_connect(void) { return status_of(connect_this_rank()); }

int troupe_connected(void) {
  auto* rank = this_rank();
  return rank && rank->gone().code == errc::none;
}

uint32_t troupe_rank(void) {
  auto* rank = this_rank();
  return rank ? rank->rank().value : 0;
}

void* troupe_rank_page(void) {
  auto* rank = this_rank();
  return rank ? rank->page() : nullptr;
}

uint32_t troupe_world(void) {
  auto* rank = this_rank();
  return rank ? rank->world() : 0;
}

void troupe_leave(void) {
  auto* rank = this_rank();
  if (!rank) return;
  tell_warden_of_leave();
  rank->leave();
}

const char* troupe_error(void) { return last_sentence().c_str(); }

namespace {

int open_communicator(const uint32_t* members, uint32_t size, std::optional<std::uint32_t> ordinal,
                      uint8_t rules, const char* name, uint32_t companion, uint64_t* communicator) {
  auto* rank = this_rank();
  if (!rank) return fail(not_connected);
  if (rules > static_cast<std::uint8_t>(semantics::mpi))
    return fail({errc::usage, "unknown semantics " + std::to_string(rules)});
  std::vector<rank_id> ranks;
  for (std::uint32_t i = 0; i < size; ++i) ranks.push_back({members[i]});
  auto opened = rank->open_communicator(std::move(ranks), static_cast<semantics>(rules),
                                        name ? name : "", ordinal, companion);
  if (opened) *communicator = opened->value;
  return status_of(opened);
}

}  // namespace

int troupe_open_communicator(const uint32_t* members, uint32_t size, uint8_t rules,
                             const char* name, uint64_t* communicator) {
  return open_communicator(members, size, std::nullopt, rules, name, 0, communicator);
}

int troupe_open_communicator_as(const uint32_t* members, uint32_t size, uint32_t ordinal,
                                uint8_t rules, const char* name, uint32_t companion,
                                uint64_t* communicator) {
  return open_communicator(members, size, ordinal, rules, name, companion, communicator);
}

uint32_t troupe_companion(uint32_t of, uint32_t companion) {
  auto* rank = this_rank();
  return rank ? rank_of({of}, companion, rank->world()).value : of;
}

int troupe_abort_communicator(uint64_t communicator) {
  auto* rank = this_rank();
  return rank ? status_of(rank->abort({communicator})) : fail(not_connected);
}

int troupe_issue(uint64_t communicator, const troupe_call* given, const troupe_input* inputs,
                 uint32_t input_n, const troupe_output* outputs, uint32_t output_n,
                 const char* call_site, troupe_done done, void* argument, uint64_t* operation) {
  auto* rank = this_rank();
  if (!rank) return fail(not_connected);
  auto size = rank->size_of({communicator});
  if (!size) return fail(size.error());
  auto call = call_from(*given, *size);
  if (!call) return fail({errc::usage, "an unknown operation, element type or reduction"});
  rank_client::posting posting{{communicator},
                               std::move(*call),
                               {inputs, input_n},
                               {outputs, output_n},
                               call_site ? call_site : "",
                               done,
                               argument};
  if (!operation) return status_of(rank->issue_and_wait(std::move(posting)));
  auto issued = rank->issue(std::move(posting));
  if (issued) *operation = issued->value;
  return status_of(issued);
}

int troupe_wait(uint64_t operation, uint64_t timeout_ns) {
  auto* rank = this_rank();
  return rank ? status_of(rank->wait({operation}, timeout_ns)) : fail(not_connected);
}

int troupe_test(uint64_t operation, int* complete) {
  auto* rank = this_rank();
  if (!rank) return fail(not_connected);
  auto tested = rank->test({operation});
  if (tested) *complete = *tested;
  return status_of(tested);
}

int troupe_watch_future(uint64_t operation, const void* from, const void* to) {
  auto* rank = this_rank();
  return rank ? status_of(rank->watch_future({operation}, from, to)) : fail(not_connected);
}

int troupe_follow(uint64_t operation) {
  auto* rank = this_rank();
  return rank ? status_of(rank->follow({operation})) : fail(not_connected);
}

int troupe_abandon(uint64_t operation, int* dropped) {
  auto* rank = this_rank();
  if (!rank) return fail(not_connected);
  auto abandoned = rank->abandon({operation});
  if (abandoned) *dropped = *abandoned;
  return status_of(abandoned);
}

int troupe_mark(uint8_t kind) {
  auto* rank = this_rank();
  return rank ? status_of(rank->mark(kind)) : fail(not_connected);
}

int troupe_copied(uint64_t size, uint64_t duration_ns) {
  auto* rank = this_rank();
  return rank ? status_of(rank->copied(size, duration_ns)) : fail(not_connected);
}

int troupe_enter(void) {
  auto* rank = this_rank();
  return rank ? status_of(rank->enter()) : fail(not_connected);
}

int troupe_yield(void) {
  auto* rank = this_rank();
  return rank ? status_of(rank->yield()) : fail(not_connected);
}
