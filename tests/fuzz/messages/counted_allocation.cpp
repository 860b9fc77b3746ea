// counted_allocation: every allocation of the fuzzers' program goes by here, so that a hostile
// length cannot hide.
//
// The linker's --wrap turns the program's own malloc, calloc and realloc (msgpack's) into these.
#include <cstdlib>
#include <new>

#include "tests/fuzz/messages/mutation.hpp"

namespace {

void count(std::size_t size) {
  auto& largest = troupe::fuzz::largest_allocation;
  for (auto seen = largest.load(); size > seen && !largest.compare_exchange_weak(seen, size);) {
  }
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t n, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);

void* __wrap_malloc(std::size_t size) {
  count(size);
  return __real_malloc(size);
}
void* __wrap_calloc(std::size_t n, std::size_t size) {
  count(n * size);
  return __real_calloc(n, size);
}
void* __wrap_realloc(void* memory, std::size_t size) {
  count(size);
  return __real_realloc(memory, size);
}
}

void* operator new(std::size_t size) {
  count(size);
  if (auto* memory = __real_malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  count(size);
  return __real_malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
