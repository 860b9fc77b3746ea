// kv_table: the run's key-value store as c10d's TCPStore behaves, with requests that wait for keys.
//
// Queues have names of their own: a key of that name has nothing to do with them, but wait and
// check see a queue with an element in it. Who waits longest for an element gets the first. Not
// here: promises and timers (store.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/wire.hpp"

namespace troupe {

class kv_table {
 public:
  using ticket = std::uint64_t;
  struct answer {
    ticket number{};
    result<store_reply> reply;
  };

  /// It must fit into the frame that answers a get.
  static constexpr std::uint64_t value_bytes_max = frame_bytes_max - 64 * 1024;
  static constexpr std::uint64_t held_bytes_max = 256u << 20;  ///< all keys and values together
  static constexpr std::uint64_t listed_bytes_max = frame_bytes_max / 2;

  /// Carries the request out, or keeps it until its keys are there. The answers that are due now:
  /// to this one, and to those that waited for what it set.
  std::vector<answer> submit(ticket number, store_request request);
  /// The keys a waiting request still lacks; forgets it.
  std::vector<std::string> give_up(ticket number);
  /// Waiting requests: ticket and the first key that it lacks.
  std::vector<std::pair<ticket, std::string>> waiting() const;

 private:
  bool lacks(const store_request& request) const;
  bool lacks(const store_request& request, const std::string& key) const;
  result<store_reply> carry_out(const store_request& request);
  result<void> hold(const std::string& key, std::uint64_t value_bytes, std::uint64_t less);
  result<store_reply> put(const std::string& key, std::vector<std::uint8_t> value);
  result<store_reply> add(const std::string& key, std::int64_t amount);
  result<store_reply> compare_set(const store_request& request);
  result<store_reply> push(const store_request& request);
  store_reply pop(const std::string& queue);
  std::int64_t count_below(const std::string& prefix) const;
  result<store_reply> list_below(const std::string& prefix) const;
  void wake(const std::string& key, std::vector<answer>& due);

  std::map<std::string, std::vector<std::uint8_t>> values_;
  std::map<std::string, std::deque<std::vector<std::uint8_t>>> queues_;  // none is empty
  std::uint64_t held_bytes_ = 0;
  std::map<ticket, store_request> waiting_;
  std::map<std::string, std::set<ticket>> waiting_for_;
};

}  // namespace troupe
