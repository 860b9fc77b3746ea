#include "interpose/cudart/stream_set.hpp"

#include <algorithm>
#include <atomic>

namespace troupe {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

bool is_open(const node_ptr& node) { return node && !node->is_done(); }

}  // namespace

stream_set::stream_set(int device) {
  legacy_.device = device;
  legacy_.is_legacy = true;
  legacy_.id = next_id();
}

device_stream& stream_set::create(bool is_blocking) {
  auto& made = created_.emplace_back();
  made.device = legacy_.device;
  made.is_blocking = is_blocking;
  made.id = next_id();
  return made;
}

bool stream_set::destroy(device_stream& stream) {
  const auto at = std::find_if(created_.begin(), created_.end(),
                               [&](const auto& one) { return &one == &stream; });
  if (at == created_.end()) return false;
  std::erase_if(left_, [](const node_ptr& node) { return !is_open(node); });
  if (is_open(at->tail)) left_.push_back(at->tail);
  created_.erase(at);
  return true;
}

bool stream_set::has(const device_stream& stream) const {
  return &stream == &legacy_ || std::any_of(created_.begin(), created_.end(), [&](const auto& one) {
    return &one == &stream;
  });
}

std::vector<node_ptr> stream_set::before(const device_stream& stream) const {
  std::vector<node_ptr> all{stream.tail};
  if (stream.is_legacy) {
    for (const auto& other : created_)
      if (other.is_blocking && other.tail) all.push_back(other.tail);
  } else if (stream.is_blocking && legacy_.tail) {
    all.push_back(legacy_.tail);
  }
  return all;
}

std::vector<node_ptr> stream_set::everything() const {
  std::vector<node_ptr> all = left_;
  all.push_back(legacy_.tail);
  for (const auto& stream : created_) all.push_back(stream.tail);
  return all;
}

bool stream_set::captures_blocking() const {
  return std::any_of(created_.begin(), created_.end(),
                     [](const auto& one) { return one.is_blocking && one.capture; });
}

}  // namespace troupe
