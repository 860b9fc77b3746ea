// gil: Python's interpreter lock around blocking calls.
//
// Some of torch's bindings release the lock before they call a backend and some do not
// (Work.is_completed, get_future): whoever blocks on Troupe gives it up if this thread holds it, so
// that futures' callbacks and other threads can run.
#pragma once

#include <Python.h>

namespace troupe {

/// Releases the lock for a scope, if this thread holds it.
class without_gil {
 public:
  without_gil() : saved_(PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~without_gil() {
    if (saved_) PyEval_RestoreThread(saved_);
  }
  without_gil(const without_gil&) = delete;
  without_gil& operator=(const without_gil&) = delete;

 private:
  PyThreadState* saved_;
};

}  // namespace troupe
