#include "actors/kv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace troupe {

bool kv_table::lacks(const store_request& request, const std::string& key) const {
  if (request.kind == store_kind::get) return !values_.contains(key);
  if (request.kind == store_kind::pop) return !queues_.contains(key);
  return !values_.contains(key) && !queues_.contains(key);
}

bool kv_table::lacks(const store_request& request) const {
  return std::any_of(request.keys.begin(), request.keys.end(),
                     [&](const auto& key) { return lacks(request, key); });
}

result<void> kv_table::hold(const std::string& key, std::uint64_t value_bytes, std::uint64_t less) {
  if (value_bytes > value_bytes_max)
    return error{errc::no_resources,
                 fmt::format("the store's value of key {} would have {} bytes, the limit is {}",
                             key, value_bytes, value_bytes_max)};
  const auto after = held_bytes_ - less + key.size() + value_bytes;
  if (after > held_bytes_max)
    return error{errc::no_resources,
                 fmt::format("the store would hold {} bytes, the limit is {}: key {}", after,
                             held_bytes_max, key)};
  held_bytes_ = after;
  return {};
}

result<store_reply> kv_table::put(const std::string& key, std::vector<std::uint8_t> value) {
  auto held = values_.find(key);
  const auto before = held == values_.end() ? 0 : key.size() + held->second.size();
  if (auto room = hold(key, value.size(), before); !room) return room.error();
  values_.insert_or_assign(key, std::move(value));
  return store_reply{};
}

result<store_reply> kv_table::push(const store_request& request) {
  const auto& key = request.keys.front();
  if (auto room = hold(key, request.value.size(), 0); !room) return room.error();
  queues_[key].push_back(request.value);
  return store_reply{};
}

/// The first element and 1, or 0 of an empty queue.
store_reply kv_table::pop(const std::string& queue) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) return {};
  store_reply taken{std::move(found->second.front()), 1};
  held_bytes_ -= queue.size() + taken.value.size();
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return taken;
}

result<store_reply> kv_table::add(const std::string& key, std::int64_t amount) {
  std::int64_t sum = 0;
  if (auto found = values_.find(key); found != values_.end()) {
    const auto* text = reinterpret_cast<const char*>(found->second.data());
    auto [end, code] = std::from_chars(text, text + found->second.size(), sum);
    if (code != std::errc{} || end != text + found->second.size())
      return error{errc::bad_input,
                   fmt::format("store: add to key {}, whose value is no number", key)};
  }
  if (__builtin_add_overflow(sum, amount, &sum))
    return error{errc::bad_input, fmt::format("store: the sum of key {} exceeds 64 bits", key)};
  const auto text = std::to_string(sum);
  TROUPE_TRY(done, put(key, {text.begin(), text.end()}));
  done.number = sum;
  return done;
}

result<store_reply> kv_table::compare_set(const store_request& request) {
  const auto& key = request.keys.front();
  auto found = values_.find(key);
  if (found == values_.end()) {  // as TCPStore: an absent key matches the empty value only
    if (!request.expected.empty()) return store_reply{request.expected, 0};
    TROUPE_TRY(done, put(key, request.value));
    done.value = request.value;
    return done;
  }
  if (found->second == request.expected)
    if (auto done = put(key, request.value); !done) return done.error();
  return store_reply{values_.at(key), 0};
}

std::int64_t kv_table::count_below(const std::string& prefix) const {
  auto from = values_.lower_bound(prefix);
  const auto past = std::find_if_not(
      from, values_.end(), [&](const auto& entry) { return entry.first.starts_with(prefix); });
  return std::distance(from, past);
}

result<store_reply> kv_table::list_below(const std::string& prefix) const {
  store_reply names;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix);
       ++at) {
    names.value.insert(names.value.end(), at->first.begin(), at->first.end());
    names.value.push_back(0);
  }
  if (names.value.size() > listed_bytes_max)
    return error{errc::no_resources,
                 fmt::format("the store's keys are {} bytes, a list of them {} at most",
                             names.value.size(), listed_bytes_max)};
  return names;
}

result<store_reply> kv_table::carry_out(const store_request& request) {
  if (request.keys.empty() && request.kind != store_kind::num_keys
      && request.kind != store_kind::list_keys && request.kind != store_kind::wait
      && request.kind != store_kind::check)
    return error{errc::bad_input, "store: a request without a key"};
  switch (request.kind) {
    case store_kind::set:
      return put(request.keys.front(), request.value);
    case store_kind::get:
      return store_reply{values_.at(request.keys.front()), 0};
    case store_kind::add:
      return add(request.keys.front(), request.amount);
    case store_kind::check:
      return store_reply{{}, !lacks(request)};
    case store_kind::wait:
      return store_reply{};
    case store_kind::delete_key: {
      auto gone = values_.extract(request.keys.front());
      if (!gone.empty()) held_bytes_ -= gone.key().size() + gone.mapped().size();
      return store_reply{{}, !gone.empty()};
    }
    case store_kind::compare_set:
      return compare_set(request);
    case store_kind::num_keys:
      return store_reply{{}, count_below(request.keys.empty() ? "" : request.keys.front())};
    case store_kind::append: {
      std::vector<std::uint8_t> value;
      if (auto found = values_.find(request.keys.front()); found != values_.end())
        value = found->second;
      value.insert(value.end(), request.value.begin(), request.value.end());
      return put(request.keys.front(), std::move(value));
    }
    case store_kind::list_keys:
      return list_below(request.keys.empty() ? "" : request.keys.front());
    case store_kind::push:
      return push(request);
    case store_kind::pop:
      return pop(request.keys.front());
    case store_kind::queue_length: {
      auto found = queues_.find(request.keys.front());
      return store_reply{
          {}, found == queues_.end() ? 0 : static_cast<std::int64_t>(found->second.size())};
    }
  }
  return error{errc::bad_input, "store: an unknown request"};
}

void kv_table::wake(const std::string& key, std::vector<answer>& due) {
  auto found = waiting_for_.find(key);
  if (found == waiting_for_.end()) return;
  for (auto number : std::set<ticket>{found->second}) {
    const auto& request = waiting_.at(number);
    if (lacks(request)) continue;
    due.push_back({number, carry_out(request)});
    give_up(number);
  }
}

std::vector<kv_table::answer> kv_table::submit(ticket number, store_request request) {
  std::vector<answer> due;
  const bool waits = request.waits();
  if (waits && lacks(request)) {
    for (const auto& key : request.keys) waiting_for_[key].insert(number);
    waiting_.emplace(number, std::move(request));
    return due;
  }
  due.push_back({number, carry_out(request)});
  if (!waits && !request.keys.empty()
      && (values_.contains(request.keys.front()) || queues_.contains(request.keys.front())))
    wake(request.keys.front(), due);
  return due;
}

std::vector<std::string> kv_table::give_up(ticket number) {
  std::vector<std::string> lacking;
  auto found = waiting_.extract(number);
  if (found.empty()) return lacking;
  for (const auto& key : found.mapped().keys) {
    if (lacks(found.mapped(), key)) lacking.push_back(key);
    auto waiters = waiting_for_.find(key);
    if (waiters == waiting_for_.end()) continue;
    waiters->second.erase(number);
    if (waiters->second.empty()) waiting_for_.erase(waiters);
  }
  return lacking;
}

std::vector<std::pair<kv_table::ticket, std::string>> kv_table::waiting() const {
  std::vector<std::pair<ticket, std::string>> all;
  for (const auto& [number, request] : waiting_)
    for (const auto& key : request.keys)
      if (lacks(request, key)) {
        all.emplace_back(number, key);
        break;
      }
  return all;
}

}  // namespace troupe
