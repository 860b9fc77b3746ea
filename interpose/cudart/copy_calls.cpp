// copy_calls: cudart's calls that copy and fill; with the streams that `_ptsz` and `_ptds` variants
// mean by none.
#include "interpose/cudart/copies.hpp"

using namespace troupe;

namespace {

constexpr cudaStream_t legacy = nullptr;
const cudaStream_t per_thread = cudaStreamPerThread;

cudaError_t copy_now(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                     cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  return answer(copy(rt, {to, size, from, size, size}, kind, stream, false));
}

cudaError_t fill_now(void* to, int value, std::size_t size, cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  return answer(fill(rt, {to, size, static_cast<unsigned>(value), size}, stream, false));
}

cudaError_t copy_plane(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, cudaMemcpyKind kind,
                       cudaStream_t stream, bool returns_at_once) {
  TROUPE_RUNTIME(rt);
  return answer(
      copy(rt, {to, to_pitch, from, from_pitch, width, height}, kind, stream, returns_at_once));
}

cudaError_t fill_plane(void* to, std::size_t pitch, int value, std::size_t width,
                       std::size_t height, cudaStream_t stream, bool returns_at_once) {
  TROUPE_RUNTIME(rt);
  return answer(
      fill(rt, {to, pitch, static_cast<unsigned>(value), width, height}, stream, returns_at_once));
}

/// Slices one after another; arrays there are none.
cudaError_t copy_volume(const cudaMemcpy3DParms* all, cudaStream_t stream, bool returns_at_once) {
  TROUPE_RUNTIME(rt);
  if (!all) return answer(cudaErrorInvalidValue);
  if (all->srcArray || all->dstArray) return not_supported("cudaMemcpy3D with arrays");
  const auto& to = all->dstPtr;
  const auto& from = all->srcPtr;
  const auto at = [](const cudaPitchedPtr& in, const cudaPos& pos, std::size_t slice) {
    return static_cast<std::byte*>(in.ptr) + (pos.z + slice) * in.pitch * in.ysize
           + pos.y * in.pitch + pos.x;
  };
  for (std::size_t slice = 0; slice < all->extent.depth; ++slice)
    if (auto failed = copy(rt,
                           {at(to, all->dstPos, slice), to.pitch, at(from, all->srcPos, slice),
                            from.pitch, all->extent.width, all->extent.height},
                           all->kind, stream, returns_at_once);
        failed)
      return answer(failed);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return copy_now(to, from, size, kind, legacy);
}
cudaError_t cudaMemcpy_ptds(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return copy_now(to, from, size, kind, per_thread);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  return answer(copy(rt, {to, size, from, size, size}, kind, stream, true));
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t size) {
  TROUPE_RUNTIME(rt);
  if (!rt.has_device(to_device) || !rt.has_device(from_device))
    return answer(cudaErrorInvalidDevice);
  return copy_now(to, from, size, cudaMemcpyDeviceToDevice, legacy);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t size, cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  if (!rt.has_device(to_device) || !rt.has_device(from_device))
    return answer(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy_plane(to, to_pitch, from, from_pitch, width, height, kind, legacy, false);
}
cudaError_t cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind) {
  return copy_plane(to, to_pitch, from, from_pitch, width, height, kind, per_thread, false);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_plane(to, to_pitch, from, from_pitch, width, height, kind, stream, true);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* all) { return copy_volume(all, legacy, false); }
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* all) {
  return copy_volume(all, per_thread, false);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* all, cudaStream_t stream) {
  return copy_volume(all, stream, true);
}

cudaError_t cudaMemset(void* to, int value, std::size_t size) {
  return fill_now(to, value, size, legacy);
}
cudaError_t cudaMemset_ptds(void* to, int value, std::size_t size) {
  return fill_now(to, value, size, per_thread);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  return answer(fill(rt, {to, size, static_cast<unsigned>(value), size}, stream, true));
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  return fill_plane(to, pitch, value, width, height, legacy, false);
}
cudaError_t cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height) {
  return fill_plane(to, pitch, value, width, height, per_thread, false);
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return fill_plane(to, pitch, value, width, height, stream, true);
}

}  // extern "C"
