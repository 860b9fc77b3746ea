// worker_pool: plain threads that sum, copy, compress and spill, so that no actor does.
//
// A job must not block on another job. It says itself that it is done (a message to an actor, a
// promise).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "messages/error.hpp"

namespace troupe {

class worker_pool {
 public:
  virtual ~worker_pool() = default;  ///< runs what was submitted, then joins its threads
  /// Runs the job later on some worker; jobs start in the order of their submission.
  virtual void submit(std::function<void()> job) = 0;
};

/// A pool of `threads` workers (at least 1). errc::no_resources: the machine has no thread left for
/// one of them.
result<std::unique_ptr<worker_pool>> make_worker_pool(std::uint32_t threads);
/// Runs each job at once, in the caller: for virtual time and unit tests.
std::unique_ptr<worker_pool> make_inline_pool();

}  // namespace troupe
