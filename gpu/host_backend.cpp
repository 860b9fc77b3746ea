// host_backend: the backend of a machine's own memory. Not here: the arithmetic (host_fold.cpp).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/backend.hpp"
#include "gpu/host_fold.hpp"
#include "messages/assert.hpp"

namespace troupe {

namespace {

constexpr std::size_t alignment = 64;

class host_backend final : public backend {
 public:
  std::string_view name() const override { return "host"; }

  result<std::span<std::byte>> allocate(bytes size) override {
    void* memory = nullptr;
    if (size.value <= PTRDIFF_MAX - alignment)
      memory = std::aligned_alloc(alignment, (size.value + alignment) / alignment * alignment);
    if (!memory)
      return error{errc::no_resources, "no " + std::to_string(size.value) + " bytes of memory"};
    return std::span(static_cast<std::byte*>(memory), size.value);
  }

  void release(std::span<std::byte> buffer) override { std::free(buffer.data()); }

  void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
    TROUPE_ASSERT(to.size() == from.size(), to.size(), from.size());
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }

  void fold(element_type type, reduction reduce, std::span<std::byte> into,
            std::span<const std::span<const std::byte>> from, std::uint32_t parts) override {
    host_fold(type, reduce, into, from, parts);
  }

  void finish(element_type type, reduction reduce, std::span<std::byte> into,
              std::uint32_t members) override {
    host_finish(type, reduce, into, members);
  }
};

}  // namespace

std::unique_ptr<backend> make_host_backend() { return std::make_unique<host_backend>(); }

}  // namespace troupe
