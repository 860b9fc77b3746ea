// call_outcome: what a call's callback was told, by which thread, how often.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace troupe {

struct outcome {
  std::atomic<int> calls = 0;
  int status = -1;
  std::string text;
  std::int32_t source = 99;
  std::thread::id thread;
  static void note(void* self, int status, const char* text, std::int32_t source) {
    auto& to = *static_cast<outcome*>(self);
    to.status = status;
    to.text = text;
    to.source = source;
    to.thread = std::this_thread::get_id();
    ++to.calls;
  }
};

}  // namespace troupe
