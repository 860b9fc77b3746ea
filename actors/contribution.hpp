// contribution: the bytes one member handed in for an operation, in its frame or in a pool.
#pragma once

#include <cstddef>
#include <span>

#include "actors/payload_pools.hpp"
#include "messages/wire.hpp"

namespace troupe {

class contribution {
 public:
  contribution() = default;
  /// errc::bad_input when the payload is not `size` bytes long or lies outside the pools.
  static result<contribution> accept(payload bytes, std::uint64_t size, payload_pools& pools);

  std::span<std::byte> view() const { return view_; }
  /// `length` bytes from `begin` as a piece for a member.
  payload slice(std::uint64_t begin, std::uint64_t length) const;
  /// How many pieces of it are handed out: its region is free again when all were read (0: now).
  void set_readers(std::uint32_t readers, payload_pools& pools) const;

 private:
  std::shared_ptr<inline_bytes> held_;
  region region_;
  bool in_region_ = false;
  std::span<std::byte> view_;
};

}  // namespace troupe
