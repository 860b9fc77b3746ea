// script: what a scripted rank's program does, as a coroutine: it goes on when its rank resumes it.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace troupe::sim {

class script {
 public:
  struct promise_type {
    script get_return_object() {
      return script{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  script() = default;
  script(script&& from) noexcept : at_(std::exchange(from.at_, {})) {}
  script& operator=(script&& from) noexcept {
    std::swap(at_, from.at_);
    return *this;
  }
  ~script() {
    if (at_) at_.destroy();
  }

  explicit operator bool() const { return static_cast<bool>(at_); }
  bool done() const { return at_.done(); }
  void resume() { at_.resume(); }

 private:
  explicit script(std::coroutine_handle<promise_type> at) : at_(at) {}
  std::coroutine_handle<promise_type> at_;
};

}  // namespace troupe::sim
