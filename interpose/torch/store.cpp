#include "interpose/torch/store.hpp"

#include <algorithm>
#include <cstdlib>

#include "interpose/client/troupe_client.h"
#include "interpose/torch/gil.hpp"
#include "interpose/torch/refusal.hpp"
#include "messages/error.hpp"

namespace troupe {

namespace {

/// Keys that torch's TCPStore and FileStore count and nobody set: those by which they count their
/// users.
constexpr std::int64_t of_torch = 1;

/// A timeout is torch's own error where torch has one.
[[noreturn]] void refuse_request(int status, const std::string& sentence) {
#if TORCH_VERSION_MAJOR >= 2
  if (status == static_cast<int>(errc::timed_out)) C10_THROW_ERROR(DistStoreError, sentence);
#endif
  static_cast<void>(status);
  refuse(sentence);
}

void require(int status, const char* what, const std::string& key) {
  if (status != 0)
    refuse_request(status, std::string("store ") + what + " of " + key + ": " + troupe_error());
}

std::uint64_t nanoseconds_of(std::chrono::milliseconds timeout) {
  auto limit = std::chrono::nanoseconds(timeout).count();
  return limit > 0 ? static_cast<std::uint64_t>(limit) : 0;
}

std::vector<std::uint8_t> taken(void* bytes, std::uint64_t size) {
  auto* first = static_cast<std::uint8_t*>(bytes);
  std::vector<std::uint8_t> value(first, first + size);
  std::free(bytes);
  return value;
}

std::vector<std::string> below(const std::string& prefix, const std::vector<std::string>& keys) {
  std::vector<std::string> full;
  for (auto& key : keys) full.push_back(prefix + key);
  return full;
}

std::vector<const char*> as_c(const std::vector<std::string>& keys) {
  std::vector<const char*> pointers;
  for (auto& key : keys) pointers.push_back(key.c_str());
  return pointers;
}

}  // namespace

void store::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  without_gil unlocked;
  require(troupe_store_set((prefix_ + key).c_str(), value.data(), value.size()), "set", key);
}

std::vector<std::uint8_t> store::get(const std::string& key) {
  without_gil unlocked;
  void* value = nullptr;
  std::uint64_t size = 0;
  require(troupe_store_get((prefix_ + key).c_str(), nanoseconds_of(timeout_), &value, &size), "get",
          key);
  return taken(value, size);
}

std::int64_t store::add(const std::string& key, std::int64_t amount) {
  without_gil unlocked;
  std::int64_t sum = 0;
  require(troupe_store_add((prefix_ + key).c_str(), amount, &sum), "add", key);
  if (amount == 0) require(troupe_yield(), "poll", key);  // adding nothing is how programs poll
  return sum;
}

bool store::deleteKey(const std::string& key) {
  without_gil unlocked;
  int deleted = 0;
  require(troupe_store_delete((prefix_ + key).c_str(), &deleted), "delete", key);
  return deleted != 0;
}

bool store::check(const std::vector<std::string>& keys) {
  without_gil unlocked;
  auto full = below(prefix_, keys);
  int present = 0;
  require(troupe_store_check(as_c(full).data(), static_cast<std::uint32_t>(full.size()), &present),
          "check", full.empty() ? "" : keys.front());
  if (!present) require(troupe_yield(), "poll", full.empty() ? "" : keys.front());
  return present != 0;
}

void store::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void store::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  without_gil unlocked;
  auto full = below(prefix_, keys);
  require(troupe_store_wait(as_c(full).data(), static_cast<std::uint32_t>(full.size()),
                            nanoseconds_of(timeout)),
          "wait", full.empty() ? "" : keys.front());
}

std::vector<std::uint8_t> store::compareSet(const std::string& key,
                                            const std::vector<std::uint8_t>& expected,
                                            const std::vector<std::uint8_t>& desired) {
  without_gil unlocked;
  void* value = nullptr;
  std::uint64_t size = 0;
  require(troupe_store_compare_set((prefix_ + key).c_str(), expected.data(), expected.size(),
                                   desired.data(), desired.size(), &value, &size),
          "compare-set", key);
  return taken(value, size);
}

std::int64_t store::getNumKeys() {
  without_gil unlocked;
  std::int64_t keys = 0;
  require(troupe_store_count(prefix_.c_str(), &keys), "count", "all keys");
  return keys + of_torch;
}

bool store::arrives(const std::string& key) {
  without_gil unlocked;
  const auto full = prefix_ + key;
  const char* name = full.c_str();
  const auto status = troupe_store_wait(&name, 1, nanoseconds_of(timeout_));
  if (status == static_cast<int>(errc::timed_out)) return false;
  require(status, "wait", key);
  return true;
}

#if TORCH_VERSION_MAJOR >= 2

void store::append(const std::string& key, const std::vector<std::uint8_t>& value) {
  without_gil unlocked;
  require(troupe_store_append((prefix_ + key).c_str(), value.data(), value.size()), "append", key);
}

std::vector<std::vector<std::uint8_t>> store::multiGet(const std::vector<std::string>& keys) {
  wait(keys);
  std::vector<std::vector<std::uint8_t>> values;
  for (auto& key : keys) values.push_back(get(key));
  return values;
}

void store::multiSet(const std::vector<std::string>& keys,
                     const std::vector<std::vector<std::uint8_t>>& values) {
  if (keys.size() != values.size())
    refuse("store set of several: " + std::to_string(keys.size()) + " keys and "
           + std::to_string(values.size()) + " values");
  for (std::size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

namespace {

[[noreturn]] void refuse_empty(const std::string& queue) {
  const auto sentence = "store: queue " + queue + " is empty";
#if TORCH_VERSION_MINOR >= 9
  C10_THROW_ERROR(DistQueueEmptyError, sentence);
#else
  refuse(sentence);
#endif
}

}  // namespace

void store::queuePush(const std::string& key, const std::vector<std::uint8_t>& value) {
  without_gil unlocked;
  require(troupe_store_push((prefix_ + key).c_str(), value.data(), value.size()), "push", key);
}

std::vector<std::uint8_t> store::queuePop(const std::string& key, bool block) {
  without_gil unlocked;
  void* value = nullptr;
  std::uint64_t size = 0;
  int came = 0;
  require(troupe_store_pop((prefix_ + key).c_str(), block, nanoseconds_of(timeout_), &value, &size,
                           &came),
          "pop", key);
  auto element = taken(value, size);
  if (came) return element;
  require(troupe_yield(), "poll", key);
  refuse_empty(key);
}

std::int64_t store::queueLen(const std::string& key) {
  without_gil unlocked;
  std::int64_t length = 0;
  require(troupe_store_queue_length((prefix_ + key).c_str(), &length), "queue length", key);
  if (length == 0) require(troupe_yield(), "poll", key);
  return length;
}

std::vector<std::string> store::listKeys() {
  without_gil unlocked;
  void* names = nullptr;
  std::uint64_t size = 0;
  require(troupe_store_list(prefix_.c_str(), &names, &size), "list", "all keys");
  const auto bytes = taken(names, size);
  std::vector<std::string> keys;
  for (auto at = bytes.begin(); at != bytes.end();) {
    auto end = std::find(at, bytes.end(), 0);
    keys.push_back(std::string(at, end).substr(prefix_.size()));
    at = end + 1;
  }
  return keys;
}

#endif

}  // namespace troupe
