#include "interpose/torch/store.hpp"

#include <cstdlib>
#include <stdexcept>

#include "interpose/client/troupe_client.h"
#include "interpose/torch/gil.hpp"

namespace troupe {

namespace {

void require(int status, const char* what, const std::string& key) {
  if (status != 0)
    throw std::runtime_error(std::string("store ") + what + " of " + key + ": " + troupe_error());
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
  return keys;
}

}  // namespace troupe
