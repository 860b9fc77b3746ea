#include "interpose/client/rank_client.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "messages/assert.hpp"

namespace troupe {
namespace {

using callbacks = conversation::callbacks;
using state = operation_record::state;

/// A request that is answered in turn keeps the slot; one that is not by then gives it up.
constexpr auto answered_in_turn = std::chrono::milliseconds(5);

/// Ten years: longer ones would leave the clocks' range.
constexpr std::uint64_t timeout_ns_max = 10ull * 365 * 24 * 3600 * 1'000'000'000;
/// How soon rank time is looked at again while it stands still.
constexpr std::uint64_t not_at_once_ns = 1'000'000;

moment after(std::uint64_t timeout_ns) {
  if (timeout_ns == 0) return never;
  const auto now = std::chrono::steady_clock::now();
  const auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(never - now);
  if (timeout_ns >= static_cast<std::uint64_t>(most.count())) return never;
  return now + std::chrono::nanoseconds(timeout_ns);
}

}  // namespace

result<std::unique_ptr<rank_client>> rank_client::connect(options wanted) {
  TROUPE_TRY(socket, connection::open(wanted.socket_name));
  TROUPE_TRY(greeting, socket.greet({wire_version, wanted.rank, wanted.pid}));
  TROUPE_TRY(pools, mapped_pools::map(greeting.terms.pool_sizes, greeting.pools));
  TROUPE_TRY(page, pools.rank_page_at(greeting.terms.rank_page_offset));
  TROUPE_TRY(clock, pools.clock_of(greeting.terms.world));
  std::unique_ptr<rank_client> client(new rank_client(wanted.rank, std::move(greeting.terms),
                                                      std::move(socket), std::move(pools), page,
                                                      clock, std::move(wanted.on_loss)));
  auto hold = client->talk_.lock();
  client->talk_.seat(hold);
  client->talk_.ensure_slot(hold, callbacks::run);
  if (client->talk_.gone().code != errc::none) {
    const auto why = client->talk_.gone();
    hold.unlock();
    return why;
  }
  hold.unlock();
  return client;
}

rank_client::rank_client(rank_id rank, to_rank::welcome terms, connection socket,
                         mapped_pools pools, rank_page* page, const run_clock* clock,
                         conversation::loss_handler on_loss)
    : rank_(rank),
      terms_(std::move(terms)),
      page_(page),
      clock_(clock),
      inline_limit_(std::min<std::uint64_t>(terms_.inline_limit, frame_bytes_max / 4)),
      talk_(std::move(socket), std::move(pools), page, std::move(on_loss)) {}

error rank_client::gone() {
  auto hold = talk_.lock();
  return talk_.gone();
}

result<communicator_id> rank_client::open_communicator(std::vector<rank_id> members,
                                                       semantics rules, std::string name,
                                                       std::optional<std::uint32_t> ordinal,
                                                       companion_number companion) {
  if (companion > companions_max)
    return error{errc::usage, "a process with more than " + std::to_string(companions_max)
                                  + " ranks beside its first"};
  const auto me = rank_of(rank_, companion, terms_.world);
  if (std::find(members.begin(), members.end(), me) == members.end())
    return error{errc::usage, "rank " + std::to_string(me.value)
                                  + " opens a communicator it is not a member of"};
  auto hold = talk_.lock();
  if (talk_.gone().code != errc::none) return talk_.gone();
  const auto opened = ordinal ? communicators_.open_as(members, *ordinal, companion)
                              : communicators_.open(members, companion);
  talk_.post(to_troupe::open_communicator{opened.communicator, std::move(members), opened.ordinal,
                                          rules, std::move(name), companion});
  if (companion) talk_.flush(hold);  // the rank is there, whatever becomes of its process
  return opened.handle;
}

result<void> rank_client::abort(communicator_id communicator) {
  auto hold = talk_.lock();
  if (talk_.gone().code != errc::none) return talk_.gone();
  const auto* known = communicators_.find(communicator);
  if (!known) return error{errc::usage, "no communicator " + std::to_string(communicator.value)};
  talk_.post(to_troupe::abort_communicator{known->communicator, known->companion});
  talk_.flush(hold);
  return {};
}

result<std::uint32_t> rank_client::size_of(communicator_id communicator) {
  auto hold = talk_.lock();
  const auto* known = communicators_.find(communicator);
  if (!known) return error{errc::usage, "no communicator " + std::to_string(communicator.value)};
  return known->size;
}

result<operation_id> rank_client::issue(posting wanted) {
  auto hold = talk_.lock();
  TROUPE_TRY(operation, post_issue(hold, std::move(wanted)));
  talk_.flush(hold);
  return operation;
}

result<operation_id> rank_client::issue_and_wait(posting wanted) {
  auto hold = talk_.lock();
  TROUPE_TRY(operation, post_issue(hold, std::move(wanted)));
  if (auto finished = finish(hold, operation, 0); !finished) return finished.error();
  return operation;
}

result<void> rank_client::wait(operation_id operation, std::uint64_t timeout_ns) {
  auto hold = talk_.lock();
  if (!talk_.operations().was_issued(operation))
    return error{errc::usage, "no operation " + std::to_string(operation.value)};
  return finish(hold, operation, timeout_ns);
}

result<void> rank_client::finish(locked& hold, operation_id operation, std::uint64_t timeout_ns) {
  auto& seat = talk_.seat(hold);
  const auto is_through = [&] {
    const auto* record = talk_.operations().find(operation);
    return !record || record->now == state::complete
           || record->finishing == std::this_thread::get_id();
  };
  std::optional<error> late;  // before the slot is back the operation may be done and forgotten
  if (!is_through()) {
    seat = {thread_seat::state::waiting, operation, release_reason::collective};
    const auto due_ns = rank_time_ns() + std::min(timeout_ns, timeout_ns_max);
    bool through = talk_.await(hold, after(timeout_ns), callbacks::run, is_through);
    while (!through && talk_.gone().code == errc::none && rank_time_ns() < due_ns)
      through = talk_.await(hold, after(std::max(due_ns - rank_time_ns(), not_at_once_ns)),
                            callbacks::run, is_through);
    if (!through)
      late =
          error{errc::timed_out,
                talk_.operations().find(operation)->name + " was not done: Timed out after "
                    + std::to_string(timeout_ns / 1'000'000) + " ms, the time its caller gives it"};
    seat = {};
  }
  talk_.ensure_slot(hold, callbacks::run);
  if (!late) return outcome(operation);
  if (talk_.gone().code != errc::none) return talk_.gone();
  return *late;
}

std::uint64_t rank_client::rank_time_ns() const { return clock_->rank_time_ns(monotonic_ns); }

/// What a complete operation's caller is told, once it is told: an edge of the graph.
result<void> rank_client::outcome(operation_id operation) {
  auto* record = talk_.operations().find(operation);
  talk_.note_awaited(operation);  // whether it blocked or not: edges do not depend on timing
  if (!record) return {};
  if (record->why.code != errc::none) return record->why;
  if (record->now == state::complete) talk_.operations().erase(operation);
  return {};
}

result<bool> rank_client::test(operation_id operation) {
  auto hold = talk_.lock();
  if (!talk_.operations().was_issued(operation))
    return error{errc::usage, "no operation " + std::to_string(operation.value)};
  talk_.seat(hold);
  talk_.ensure_slot(hold, callbacks::run);
  const auto is_through = [&] {
    const auto* record = talk_.operations().find(operation);
    return !record || record->now == state::complete;
  };
  for (const bool last : {false, true}) {
    if (!is_through()) talk_.drain(hold, callbacks::run);
    if (is_through()) {
      if (auto done = outcome(operation); !done) return done.error();
      return true;
    }
    if (talk_.gone().code != errc::none) return talk_.gone();
    if (!last) talk_.yield_slot(hold, callbacks::run);
  }
  return false;
}

result<void> rank_client::watch_future(operation_id operation, const void* from, const void* to) {
  auto hold = talk_.lock();
  if (!talk_.operations().was_issued(operation))
    return error{errc::usage, "no operation " + std::to_string(operation.value)};
  if (talk_.gone().code != errc::none) return talk_.gone();
  talk_.post(to_troupe::future_taken{operation});
  if (auto* record = talk_.operations().find(operation); record && record->now != state::complete) {
    record->watched = true;
    talk_.watch(hold, operation, from, to);
  }
  talk_.start_reader(hold);
  return {};
}

result<void> rank_client::follow(operation_id operation) {
  auto hold = talk_.lock();
  if (!talk_.operations().was_issued(operation))
    return error{errc::usage, "no operation " + std::to_string(operation.value)};
  if (talk_.gone().code != errc::none) return talk_.gone();
  if (auto* record = talk_.operations().find(operation); record && record->now != state::complete)
    record->watched = true;
  talk_.start_reader(hold);
  return {};
}

result<bool> rank_client::abandon(operation_id operation) {
  auto hold = talk_.lock();
  if (!talk_.operations().was_issued(operation))
    return error{errc::usage, "no operation " + std::to_string(operation.value)};
  auto* record = talk_.operations().find(operation);
  if (record && record->now == state::pending) {
    record->abandoned = true;
    record->outputs.clear();
    record->done = nullptr;
    return true;
  }
  // Its result is being laid out, or its callback runs.
  talk_.await(hold, never, callbacks::run, [&] {
    const auto* now = talk_.operations().find(operation);
    return !now || now->now == state::complete || now->finishing == std::this_thread::get_id();
  });
  return false;
}

result<void> rank_client::mark(std::uint8_t kind) {
  auto hold = talk_.lock();
  if (talk_.gone().code != errc::none) return talk_.gone();
  talk_.post(to_troupe::mark{kind, monotonic_ns()});
  return {};
}

result<void> rank_client::copied(std::uint64_t size, std::uint64_t duration_ns) {
  auto hold = talk_.lock();
  if (talk_.gone().code != errc::none) return talk_.gone();
  talk_.post(to_troupe::copied{size, duration_ns, monotonic_ns()});
  if (talk_.has_much_to_say()) talk_.flush(hold);
  return {};
}

result<void> rank_client::yield() {
  auto hold = talk_.lock();
  talk_.seat(hold);
  talk_.yield_slot(hold, callbacks::run);
  if (talk_.gone().code != errc::none) return talk_.gone();
  return {};
}

result<void> rank_client::enter() {
  auto hold = talk_.lock();
  talk_.seat(hold);
  talk_.ensure_slot(hold, callbacks::later);
  if (talk_.gone().code != errc::none) return talk_.gone();
  return {};
}

void rank_client::leave() {
  auto hold = talk_.lock();
  talk_.leave(hold);
}

result<store_reply> rank_client::ask_store(store_request request) {
  auto hold = talk_.lock();
  talk_.seat(hold);
  talk_.ensure_slot(hold, callbacks::run);
  if (talk_.gone().code != errc::none) return talk_.gone();
  operation_record record;
  record.what = operation_record::kind::store;
  const auto operation = talk_.operations().add(std::move(record));
  const bool may_block = request.waits();
  talk_.post(to_troupe::store{operation, std::move(request)});
  await_answer(hold, operation, release_reason::store, may_block, callbacks::run);
  talk_.ensure_slot(hold, callbacks::run);
  auto* answered = talk_.operations().find(operation);
  const auto why = answered->why;
  auto reply = std::move(answered->reply);
  talk_.operations().erase(operation);
  if (why.code != errc::none) return why;
  return reply;
}

/// Waits for the answer of a store request or a lease; a loss is an answer too.
void rank_client::await_answer(locked& hold, operation_id operation, release_reason reason,
                               bool at_once, callbacks mode) {
  const auto is_answered = [&] { return !talk_.operations().is_pending(operation); };
  auto& seat = talk_.seat(hold);
  const auto in_turn = std::chrono::steady_clock::now() + answered_in_turn;
  if (!at_once && talk_.await(hold, in_turn, mode, is_answered)) return;
  seat = {thread_seat::state::waiting, operation, reason};
  talk_.await(hold, never, mode, is_answered);
  seat = {};
}

}  // namespace troupe
