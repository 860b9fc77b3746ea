// rank_client's posting of operations: where the inputs go, and the issue frame.
#include <cstring>
#include <utility>

#include "interpose/client/rank_client.hpp"

namespace troupe {
namespace {

using callbacks = conversation::callbacks;

template <class Pieces>
result<std::uint64_t> total_size(const Pieces& pieces) {
  std::uint64_t total = 0;
  for (const auto& piece : pieces)
    if (__builtin_add_overflow(total, piece.size, &total))
      return error{errc::usage, "a call's buffers exceed 64-bit sizes"};
  return total;
}

void copy_inputs(std::span<const troupe_input> inputs, void* into) {
  auto* at = static_cast<std::byte*>(into);
  for (const auto& input : inputs) {
    if (input.size) std::memcpy(at, input.data, input.size);
    at += input.size;
  }
}

}  // namespace

result<operation_id> rank_client::post_issue(locked& hold, posting wanted) {
  // Callbacks stay for later: the caller may hold locks of its own that they want.
  talk_.ensure_slot(hold, callbacks::later);
  if (talk_.gone().code != errc::none) return talk_.gone();
  auto* communicator = communicators_.find(wanted.communicator);
  if (!communicator)
    return error{errc::usage, "no communicator " + std::to_string(wanted.communicator.value)};
  TROUPE_TRY(placed, place_inputs(hold, wanted));
  if (talk_.gone().code != errc::none) return talk_.gone();

  operation_record record;
  const bool collective = !is_point_to_point(wanted.call.op);
  const sequence_number sequence{collective ? ++communicator->collectives : 0};
  record.name = to_string(wanted.call.op);
  if (collective) record.name += " " + std::to_string(sequence.value);
  record.outputs.assign(wanted.outputs.begin(), wanted.outputs.end());
  record.done = wanted.done;
  record.argument = wanted.argument;
  const auto operation = talk_.operations().add(std::move(record), communicator->companion);
  const auto site = call_sites_.intern(wanted.call_site);
  if (site.first)
    talk_.post(to_troupe::call_site{
        site.id, std::string(wanted.call_site.substr(0, call_site_table::text_bytes_max))});
  talk_.post(to_troupe::issue{operation, communicator->communicator, sequence,
                              std::move(wanted.call), std::move(placed), site.id, false,
                              monotonic_ns()});
  return operation;
}

/// The inputs in the frame when they and the whole result are small, else in a region.
result<payload> rank_client::place_inputs(locked& hold, const posting& wanted) {
  TROUPE_TRY(input_size, total_size(wanted.inputs));
  TROUPE_TRY(result_size, total_size(wanted.outputs));
  if (input_size == 0) return payload{};
  if (input_size <= inline_limit_ && result_size <= inline_limit_) {
    inline_bytes bytes(input_size);
    copy_inputs(wanted.inputs, bytes.data());
    return payload{std::move(bytes)};
  }
  TROUPE_TRY(taken, reserve(hold, input_size));
  hold.unlock();
  copy_inputs(wanted.inputs, taken.bytes.data());
  hold.lock();
  return payload{taken.where};
}

result<taken_region> rank_client::reserve(locked& hold, std::uint64_t length) {
  if (auto taken = regions_.take(length)) return *taken;
  talk_.drain(hold, callbacks::later);  // answers that came hand regions back
  for (;;) {
    if (auto taken = regions_.take(length)) return *taken;
    if (auto leased = lease_extent(hold, length); !leased) return leased.error();
  }
}

result<void> rank_client::lease_extent(locked& hold, std::uint64_t length) {
  if (talk_.gone().code != errc::none) return talk_.gone();
  const auto size = region_allocator::extent_size_for(length);
  operation_record record;
  record.what = operation_record::kind::lease;
  const auto operation = talk_.operations().add(std::move(record));
  talk_.post(to_troupe::lease{operation, size});
  const auto is_answered = [&] { return !talk_.operations().is_pending(operation); };
  talk_.await(hold, never, callbacks::later, is_answered);
  const auto answer = *talk_.operations().find(operation);
  talk_.operations().erase(operation);
  if (answer.why.code != errc::none) return answer.why;
  if (answer.leased.length < size)
    return error{errc::bad_input, "the runner leased less than was asked for"};
  TROUPE_TRY(memory, talk_.pools().bytes_of(answer.leased));
  regions_.add_extent(answer.leased, memory);
  return {};
}

}  // namespace troupe
