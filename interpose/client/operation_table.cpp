#include "interpose/client/operation_table.hpp"

#include "messages/assert.hpp"

namespace troupe {

operation_id operation_table::add(operation_record record, companion_number companion) {
  const auto operation = operation_of(companion, next_++);
  records_.emplace(operation, std::move(record));
  return operation;
}

operation_record* operation_table::find(operation_id operation) {
  const auto at = records_.find(operation);
  return at == records_.end() ? nullptr : &at->second;
}

bool operation_table::is_pending(operation_id operation) {
  const auto* record = find(operation);
  return record && record->now == operation_record::state::pending;
}

void operation_table::complete(operation_id operation, bool seen) {
  auto* record = find(operation);
  TROUPE_ASSERT(record, operation.value);
  record->now = operation_record::state::complete;
  record->outputs = {};
  record->finishing = {};
  if (record->why.code != errc::none)
    keep(failed_, operation);
  else if (record->watched)
    erase(operation);
  else if (!seen)
    keep(unseen_, operation);
}

void operation_table::keep(std::deque<operation_id>& kept, operation_id operation) {
  kept.push_back(operation);
  if (kept.size() <= completed_kept_max) return;
  records_.erase(kept.front());
  kept.pop_front();
}

}  // namespace troupe
