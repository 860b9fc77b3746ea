// troupe_client.h's store functions.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "interpose/client/c_status.hpp"
#include "interpose/client/this_rank.hpp"
#include "interpose/client/troupe_client.h"

using namespace troupe;

namespace {

std::vector<std::uint8_t> bytes_from(const void* data, std::uint64_t size) {
  const auto* begin = static_cast<const std::uint8_t*>(data);
  return size ? std::vector<std::uint8_t>(begin, begin + size) : std::vector<std::uint8_t>{};
}

result<store_reply> ask(store_request request) {
  // A key and a value must fit a frame with room for its own words.
  if (request.value.size() + request.expected.size() > frame_bytes_max / 2)
    return error{errc::usage,
                 "a store value of more than " + std::to_string(frame_bytes_max / 2) + " bytes"};
  auto* rank = this_rank();
  if (!rank) return error{errc::usage, "this process is not connected to a run of troupe"};
  return rank->ask_store(std::move(request));
}

store_request about(store_kind kind, const char* key) {
  store_request request;
  request.kind = kind;
  request.keys.emplace_back(key);
  return request;
}

store_request about(store_kind kind, const char* const* keys, std::uint32_t n) {
  store_request request;
  request.kind = kind;
  request.keys.assign(keys, keys + n);
  return request;
}

/// A malloc'ed copy for the caller; one byte at least, so that NULL means no memory.
int give_value(const result<store_reply>& answer, void** value, std::uint64_t* size) {
  if (!answer) return fail(answer.error());
  *value = std::malloc(answer->value.size() + 1);
  if (!*value) return fail({errc::no_resources, "no memory for a store value"});
  if (!answer->value.empty()) std::memcpy(*value, answer->value.data(), answer->value.size());
  *size = answer->value.size();
  return 0;
}

}  // namespace

int troupe_store_set(const char* key, const void* value, uint64_t size) {
  auto request = about(store_kind::set, key);
  request.value = bytes_from(value, size);
  return status_of(ask(std::move(request)));
}

int troupe_store_get(const char* key, uint64_t timeout_ns, void** value, uint64_t* size) {
  auto request = about(store_kind::get, key);
  request.timeout_ns = timeout_ns;
  return give_value(ask(std::move(request)), value, size);
}

int troupe_store_add(const char* key, int64_t amount, int64_t* sum) {
  auto request = about(store_kind::add, key);
  request.amount = amount;
  auto answer = ask(std::move(request));
  if (answer) *sum = answer->number;
  return status_of(answer);
}

int troupe_store_check(const char* const* keys, uint32_t n, int* present) {
  auto answer = ask(about(store_kind::check, keys, n));
  if (answer) *present = answer->number != 0;
  return status_of(answer);
}

int troupe_store_wait(const char* const* keys, uint32_t n, uint64_t timeout_ns) {
  auto request = about(store_kind::wait, keys, n);
  request.timeout_ns = timeout_ns;
  return status_of(ask(std::move(request)));
}

int troupe_store_delete(const char* key, int* deleted) {
  auto answer = ask(about(store_kind::delete_key, key));
  if (answer) *deleted = answer->number != 0;
  return status_of(answer);
}

int troupe_store_compare_set(const char* key, const void* expected, uint64_t expected_size,
                             const void* desired, uint64_t desired_size, void** value,
                             uint64_t* size) {
  auto request = about(store_kind::compare_set, key);
  request.expected = bytes_from(expected, expected_size);
  request.value = bytes_from(desired, desired_size);
  return give_value(ask(std::move(request)), value, size);
}

int troupe_store_append(const char* key, const void* value, uint64_t size) {
  auto request = about(store_kind::append, key);
  request.value = bytes_from(value, size);
  return status_of(ask(std::move(request)));
}

int troupe_store_list(const char* prefix, void** names, uint64_t* size) {
  return give_value(ask(about(store_kind::list_keys, prefix)), names, size);
}

int troupe_store_push(const char* queue, const void* value, uint64_t size) {
  auto request = about(store_kind::push, queue);
  request.value = bytes_from(value, size);
  return status_of(ask(std::move(request)));
}

int troupe_store_pop(const char* queue, int wait, uint64_t timeout_ns, void** value, uint64_t* size,
                     int* came) {
  auto request = about(store_kind::pop, queue);
  request.amount = wait != 0;
  request.timeout_ns = timeout_ns;
  auto answer = ask(std::move(request));
  if (answer) *came = answer->number != 0;
  return give_value(answer, value, size);
}

int troupe_store_queue_length(const char* queue, int64_t* length) {
  auto answer = ask(about(store_kind::queue_length, queue));
  if (answer) *length = answer->number;
  return status_of(answer);
}

int troupe_store_count(const char* prefix, int64_t* keys) {
  auto request = about(store_kind::num_keys, prefix);
  auto answer = ask(std::move(request));
  if (answer) *keys = answer->number;
  return status_of(answer);
}
