// operation_table: this process' requests that were not answered yet, and answers nobody has asked
// for yet.
//
// An operation's number has which of the process' ranks makes it (messages/companions.hpp). It is
// pending, then arrived (its answer is here, its bytes or its callback are not
// through), then complete. A number given out that is not in the table was completed without an
// error and somebody has seen it. Limits: of completed operations that nobody waits for,
// completed_kept_max are kept; older ones count as seen unless they failed, of which as many are
// kept. Not here: frames, threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpose/client/troupe_client.h"
#include "messages/wire.hpp"

namespace troupe {

struct operation_record {
  enum class kind : std::uint8_t { call, store, lease };
  enum class state : std::uint8_t { pending, arrived, complete };

  kind what{};
  state now = state::pending;
  bool watched = false;    ///< through a future: its callback is the one who sees it
  bool abandoned = false;  ///< nobody wants its result: it has no outputs, whatever comes
  std::string name;        ///< "all_reduce 3", for messages
  std::vector<troupe_output> outputs;
  troupe_done done{};
  void* argument{};
  std::thread::id finishing;  ///< runs the callback right now

  // The answer.
  error why;
  store_reply reply;
  region leased;
};

class operation_table {
 public:
  static constexpr std::size_t completed_kept_max = 16 * 1024;

  /// `companion`: of the process' ranks, that makes the request (0: the lead).
  operation_id add(operation_record record, companion_number companion = 0);
  operation_record* find(operation_id operation);
  /// pending: no answer has come.
  bool is_pending(operation_id operation);
  /// Was this number given out?
  bool was_issued(operation_id operation) const {
    const auto count = count_of(operation);
    return count > 0 && count < next_;
  }
  /// The answer is all through. `seen`: a thread waits for it right now (and erases it).
  void complete(operation_id operation, bool seen);
  void erase(operation_id operation) { records_.erase(operation); }
  /// Every operation that is pending, in order (the connection is lost).
  std::vector<operation_id> pending() const {
    return pending_where([](const operation_record&) { return true; });
  }
  /// Every pending operation whose future is under watch, in order.
  std::vector<operation_id> watched() const {
    return pending_where([](const operation_record& record) { return record.watched; });
  }

 private:
  template <class Condition>
  std::vector<operation_id> pending_where(Condition condition) const {
    std::vector<operation_id> found;
    for (const auto& [operation, record] : records_)
      if (record.now == operation_record::state::pending && condition(record))
        found.push_back(operation);
    std::sort(found.begin(), found.end());
    return found;
  }
  void keep(std::deque<operation_id>& kept, operation_id operation);

  std::unordered_map<operation_id, operation_record> records_;
  std::deque<operation_id> unseen_, failed_;
  std::uint64_t next_ = 1;
};

}  // namespace troupe
