#include "interpose/torch/counted_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "interpose/client/troupe_client.h"
#include "interpose/torch/refusal.hpp"

namespace troupe {
namespace {

/// Lies before the memory of every tensor, which keeps the alignment that torch gives it.
struct alignas(64) allocation {
  std::size_t size;
};
constexpr auto size_max =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - sizeof(allocation);

bool is_for_cuda = false;

std::string in_words(std::uint64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  auto number = static_cast<double>(bytes) / 1024;
  auto unit = std::begin(units);
  for (; number >= 1024; number /= 1024) ++unit;
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s (%llu bytes)", number, *unit,
                static_cast<unsigned long long>(bytes));
  return text;
}

/// Begins as torch's own refusals do: programs recognise them by their text, too.
[[noreturn]] void refuse_allocation(std::size_t size) {
  const std::string begin =
      is_for_cuda ? "CUDA out of memory. " : "DefaultCPUAllocator: can't allocate memory: ";
  throw c10::OutOfMemoryError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
      begin + "Tried to allocate " + in_words(size) + " for a tensor of rank "
          + std::to_string(troupe_rank()) + ", whose CPU tensors hold " + in_words(tensors().held())
          + " of a capacity of " + in_words(tensors().capacity())
          + ". What is counted are the bytes of its CPU tensors: this is not an estimate of what a "
            "GPU's allocator would need.");
}

void free_counted(void* data) {
  if (!data) return;
  auto* found = static_cast<allocation*>(data) - 1;
  const auto size = found->size;
  c10::profiledCPUMemoryReporter().Delete(data);
  c10::free_cpu(found);
  tensors().give_back(size);
}

/// torch's allocate() is const in some versions: then that one overrides, else the other.
struct counted_allocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) { return std::as_const(*this).allocate(size); }
  c10::DataPtr allocate(std::size_t size) const {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (size == 0) return {nullptr, nullptr, &free_counted, cpu};
    if (size > size_max) c10::alloc_cpu(size);  // throws what torch says to such a size
    const auto held = tensors().take(size);
    if (!held) refuse_allocation(size);
    auto* made = begin(size);
    tensors().reached(*held);
    c10::profiledCPUMemoryReporter().New(made + 1, size);
    return {made + 1, made + 1, &free_counted, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
  /// Newer versions' copy on write.
  void copy_data(void* to, const void* from, std::size_t size) const {
    std::memcpy(to, from, size);
  }

 private:
  static allocation* begin(std::size_t size) {
    try {
      return new (c10::alloc_cpu(sizeof(allocation) + size)) allocation{size};
    } catch (...) {  // the machine has no more
      tensors().give_back(size);
      c10::profiledCPUMemoryReporter().OutOfMemory(size);
      throw;
    }
  }
};

}  // namespace

tensor_account& tensors() {
  static constinit tensor_account account;
  return account;
}

std::uintptr_t count_tensors(std::uint64_t capacity, bool for_cuda) {
  static counted_allocator* const ours = new counted_allocator;  // tensors may outlive everything
  static const int handled = ::pthread_atfork(nullptr, nullptr, [] { tensors().leave_page(); });
  auto* page = static_cast<rank_page*>(troupe_rank_page());
  if (!page) refuse("tensors are counted in ranks only");
  if (handled != 0) refuse("no memory to be told of forks");
  if (c10::GetCPUAllocator() != ours) {
    if (c10::GetCPUAllocator() != c10::GetDefaultCPUAllocator())
      refuse("another allocator than torch's own is in place for the CPU");
    is_for_cuda = for_cuda;
    c10::SetCPUAllocator(ours, std::numeric_limits<std::uint8_t>::max());
  }
  tensors().open(*page, capacity);
  return reinterpret_cast<std::uintptr_t>(static_cast<c10::Allocator*>(ours));
}

}  // namespace troupe
