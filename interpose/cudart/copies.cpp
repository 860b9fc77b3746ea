#include "interpose/cudart/copies.hpp"

#include <cstring>
#include <memory>

#include "interpose/cudart/run_link.hpp"

namespace troupe {
namespace {

bool is_host(const std::optional<memory_range>& range) {
  return !range || range->kind != memory_kind::device;
}
bool is_pageable(const std::optional<memory_range>& range) { return !range; }

/// Do the rows stay within the allocation that they begin in?
bool fits(const std::optional<memory_range>& range, const void* at, std::size_t pitch,
          std::size_t width, std::size_t height) {
  if (!range) return true;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - range->base);
  std::size_t length = 0;
  return !__builtin_mul_overflow(pitch, height - 1, &length)
         && !__builtin_add_overflow(length, width, &length) && length <= range->size - offset;
}

bool kind_fits(cudaMemcpyKind kind, const std::optional<memory_range>& to,
               const std::optional<memory_range>& from) {
  const auto managed = [](const auto& range) {
    return range && range->kind == memory_kind::managed;
  };
  const bool to_host = is_host(to) || managed(to), from_host = is_host(from) || managed(from);
  // Pinned and managed memory can be reached from a device too.
  switch (kind) {
    case cudaMemcpyHostToHost:
      return to_host && from_host;
    case cudaMemcpyHostToDevice:
      return to.has_value() && from_host;
    case cudaMemcpyDeviceToHost:
      return to_host && from.has_value();
    case cudaMemcpyDeviceToDevice:
      return to.has_value() && from.has_value();
    default:
      return true;
  }
}

void move(const copy_rows& rows) {
  if (rows.width == rows.to_pitch && rows.width == rows.from_pitch) {
    std::memmove(rows.to, rows.from, rows.width * rows.height);
    return;
  }
  auto* to = static_cast<std::byte*>(rows.to);
  const auto* from = static_cast<const std::byte*>(rows.from);
  for (std::size_t row = 0; row < rows.height; ++row)
    std::memmove(to + row * rows.to_pitch, from + row * rows.from_pitch, rows.width);
}

void set(const fill_rows& rows) {
  auto* to = static_cast<std::byte*>(rows.to);
  if (rows.width == rows.pitch) {
    std::memset(to, static_cast<int>(rows.value), rows.width * rows.height);
    return;
  }
  for (std::size_t row = 0; row < rows.height; ++row)
    std::memset(to + row * rows.pitch, static_cast<int>(rows.value), rows.width);
}

std::uint64_t time_for(std::size_t bytes, double bytes_per_ns) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / bytes_per_ns);
}

bool is_captured(device_runtime& rt, cudaStream_t handle) {
  const std::lock_guard hold(rt.lock);
  const auto* stream = rt.stream(handle);
  return stream && stream->capture;
}

/// Would a piece queued now run at once?
bool is_idle(device_runtime& rt, cudaStream_t handle) {
  const std::lock_guard hold(rt.lock);
  const auto* stream = rt.stream(handle);
  if (!stream) return true;
  for (const auto& node : rt.device(stream->device).streams.before(*stream))
    if (node && !node->is_done()) return false;
  return true;
}

/// What it copies from is the step's own: the program may overwrite its memory at once.
void stage(plan_step& step, copy_rows rows) {
  auto staged = std::make_shared<std::vector<std::byte>>(rows.width * rows.height);
  move({staged->data(), rows.width, rows.from, rows.from_pitch, rows.width, rows.height});
  rows.from = staged->data();
  rows.from_pitch = rows.width;
  step.content.run = [rows, staged](const node_ptr&) { move(rows); };
}

}  // namespace

cudaError_t make_copy_step(device_runtime& rt, const copy_rows& rows, cudaMemcpyKind kind,
                           plan_step& step) {
  const auto to = rt.memory.find(rows.to), from = rt.memory.find(rows.from);
  if (rows.to_pitch < rows.width || rows.from_pitch < rows.width) return cudaErrorInvalidPitchValue;
  if (!rows.to || !rows.from || !kind_fits(kind, to, from)
      || !fits(to, rows.to, rows.to_pitch, rows.width, rows.height)
      || !fits(from, rows.from, rows.from_pitch, rows.width, rows.height))
    return cudaErrorInvalidValue;
  const auto bytes = rows.width * rows.height;
  step.what = plan_step::type::copy;
  step.content.what = work::kind::computes;
  step.content.duration_ns = is_host(to) || is_host(from)
                                 ? time_for(bytes, rt.profile().host_bytes_per_ns)
                                 : time_for(2 * bytes, rt.profile().memory_bytes_per_ns);
  step.content.run = [rows](const node_ptr&) { move(rows); };
  return cudaSuccess;
}

cudaError_t make_fill_step(device_runtime& rt, const fill_rows& rows, plan_step& step) {
  const auto to = rt.memory.find(rows.to);
  if (!to || rows.pitch < rows.width || !fits(to, rows.to, rows.pitch, rows.width, rows.height))
    return cudaErrorInvalidValue;
  step.what = plan_step::type::fill;
  step.content.what = work::kind::computes;
  step.content.duration_ns = time_for(rows.width * rows.height, rt.profile().memory_bytes_per_ns);
  step.content.run = [rows](const node_ptr&) { set(rows); };
  return cudaSuccess;
}

cudaError_t copy(device_runtime& rt, const copy_rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream, bool returns_at_once) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  plan_step step;
  if (auto wrong = make_copy_step(rt, rows, kind, step); wrong) return wrong;
  const auto to = rt.memory.find(rows.to), from = rt.memory.find(rows.from);
  if (is_captured(rt, stream)) {
    if (returns_at_once) return rt.queue(stream, std::move(step));
    return rt.queue_and_wait(stream, std::move(step));  // which refuses
  }
  if (is_host(to) != is_host(from)) report_copy(rows.width * rows.height, step.content.duration_ns);
  const bool within_device = !is_host(to) && !is_host(from);
  const bool waits = within_device      ? false
                     : !returns_at_once ? true
                                        : is_pageable(to) || (is_pageable(from) && is_host(to));
  if (waits) return rt.queue_and_wait(stream, std::move(step));
  node_ptr node;
  const bool reads_now = is_pageable(from), runs_now = reads_now && is_idle(rt, stream);
  if (reads_now && !runs_now) stage(step, rows);
  if (auto failed = rt.queue(stream, std::move(step), &node); failed) return failed;
  if (runs_now) rt.wait(node);  // another thread may be at it
  return cudaSuccess;
}

cudaError_t fill(device_runtime& rt, const fill_rows& rows, cudaStream_t stream,
                 bool returns_at_once) {
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  plan_step step;
  if (auto wrong = make_fill_step(rt, rows, step); wrong) return wrong;
  if (!returns_at_once && is_host(rt.memory.find(rows.to)))
    return rt.queue_and_wait(stream, std::move(step));
  return rt.queue(stream, std::move(step));
}

}  // namespace troupe
