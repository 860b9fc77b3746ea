// error: what went wrong in the world, as a value. Our own bugs are TROUPE_ASSERT's.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace troupe {

enum class errc : std::uint8_t {
  none,
#define TROUPE_ERRC(name, status, text) name,
#include "messages/errc.def"
#undef TROUPE_ERRC
};

/// The code's name as it stands in reports ("lost_rank").
const char* to_string(errc code);
/// The code as a sentence without a full stop.
const char* sentence(errc code);
/// The process exit status of a run that ended so (0 for none).
int exit_status(errc code);

struct error {
  errc code{};
  std::string context;  ///< names the culprit: file, line, rank, operation, call site
};

/// "context" if there is one, else the code's sentence.
std::string to_string(const error& why);

/// A T, or why there is none.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  result(troupe::error why) : held_(std::in_place_index<1>, std::move(why)) {}
  explicit operator bool() const { return held_.index() == 0; }
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  const troupe::error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, troupe::error> held_;
};

/// Success, or why not.
template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(troupe::error why) : why_(std::move(why)), failed_(true) {}
  explicit operator bool() const { return !failed_; }
  const troupe::error& error() const { return why_; }

 private:
  troupe::error why_;
  bool failed_ = false;
};

// TROUPE_TRY(x, f()): x = the value of f(), or return its error from here.
#define TROUPE_TRY(name, expression)                    \
  auto name##_or_error = (expression);                  \
  if (!name##_or_error) return name##_or_error.error(); \
  auto& name = *name##_or_error

}  // namespace troupe
