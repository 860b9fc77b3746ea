// large_array: a vector of plain values that grows without copying: large ones are moved by the
// kernel (realloc), and lie in huge pages where there are any, which random access profits from.
//
// Memory that is not there ends the process, as it does in a vector.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

template <class T>
class large_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  large_array() = default;
  /// `count` default values.
  explicit large_array(std::size_t count) { resize(count); }
  large_array(large_array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  large_array& operator=(large_array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~large_array() { std::free(data_); }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& value) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_++) T(value);
  }
  void resize(std::size_t count) {
    if (count > capacity_) grow(count);
    for (; size_ < count; ++size_) new (data_ + size_) T();
    size_ = count;
  }

 private:
  static constexpr std::size_t page = 4096, huge_from = 64u << 20;

  void grow(std::size_t least) {
    auto wanted = capacity_ + capacity_ / 2 + 16;
    if (wanted < least) wanted = least;
    const auto bytes = wanted * sizeof(T);
    // Untyped on purpose: T is trivially copyable, and its constructors set defaults only.
    auto* const moved = std::realloc(static_cast<void*>(data_), bytes);
    if (!moved) throw std::bad_alloc();  // as a vector does
    data_ = static_cast<T*>(moved);
    capacity_ = wanted;
    if (bytes < huge_from) return;  // malloc maps larger ones than 32 MiB apart from the others
    // The whole of the mapping that malloc made for it: the kernel moves no parts.
    const auto at = reinterpret_cast<std::uintptr_t>(moved);
    const auto begin = at / page * page;
    const auto end = (at + bytes + page - 1) / page * page;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace troupe
