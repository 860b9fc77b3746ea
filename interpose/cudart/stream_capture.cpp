#include "interpose/cudart/stream_capture.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

stream_capture::stream_capture(device_stream& origin, mode how, std::shared_ptr<work_plan> into)
    : origin_(&origin), how_(how), thread_(std::this_thread::get_id()), plan_(std::move(into)) {
  static std::atomic<std::uint64_t> last{0};
  id_ = ++last;
}

void stream_capture::join(const std::shared_ptr<stream_capture>& capture, device_stream& stream,
                          const std::vector<plan_step*>& steps) {
  if (!stream.capture) {
    stream.capture = capture;
    stream.captured_tail.clear();
    capture->streams_.insert(&stream);
  }
  for (auto* step : steps)
    if (std::find(stream.captured_tail.begin(), stream.captured_tail.end(), step)
        == stream.captured_tail.end())
      stream.captured_tail.push_back(step);
}

plan_step& stream_capture::add(plan_step step, const std::vector<device_stream*>& streams) {
  for (auto* stream : streams)
    step.after.insert(stream->captured_tail.begin(), stream->captured_tail.end());
  auto& added = plan_->add(std::move(step));
  for (auto* stream : streams) stream->captured_tail = {&added};
  return added;
}

stream_capture::ending stream_capture::end() {
  // What the origin's tail comes after, and so on: the last steps of the others must be among it.
  std::set<plan_step*> joined;
  std::vector<plan_step*> left = origin_->captured_tail;
  while (!left.empty()) {
    auto* step = left.back();
    left.pop_back();
    if (joined.insert(step).second) left.insert(left.end(), step->after.begin(), step->after.end());
  }
  bool all_joined = true;
  for (auto* stream : streams_) {
    for (auto* step : stream->captured_tail) all_joined = all_joined && joined.contains(step);
    stream->captured_tail.clear();
    if (stream != origin_) stream->capture = nullptr;
  }
  streams_.clear();
  const auto kept = std::exchange(origin_->capture, nullptr);  // perhaps the last to hold this
  return is_spoilt_ ? ending::spoilt : all_joined ? ending::well : ending::unjoined;
}

}  // namespace troupe
