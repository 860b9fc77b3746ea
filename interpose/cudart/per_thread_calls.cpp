// per_thread_calls: the `_ptsz` variants: the same calls for programs in which no stream means the
// calling thread's own. One line a call.
#include <cuda_runtime_api.h>

namespace {

cudaStream_t own(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }

cudaLaunchConfig_t own(const cudaLaunchConfig_t* how) {
  auto mine = *how;
  mine.stream = own(how->stream);
  return mine;
}

}  // namespace

// clang-format off
#define TROUPE_PER_THREAD(name, parameters, arguments) \
  cudaError_t name##_ptsz parameters { return name arguments; }

extern "C" {
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);

TROUPE_PER_THREAD(__cudaLaunchKernel, (cudaKernel_t k, dim3 g, dim3 b, void** a, size_t n, cudaStream_t s), (k, g, b, a, n, own(s)))
TROUPE_PER_THREAD(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, own(s)))
TROUPE_PER_THREAD(cudaEventRecordWithFlags, (cudaEvent_t e, cudaStream_t s, unsigned f), (e, own(s), f))
TROUPE_PER_THREAD(cudaFreeAsync, (void* p, cudaStream_t s), (p, own(s)))
TROUPE_PER_THREAD(cudaGraphLaunch, (cudaGraphExec_t g, cudaStream_t s), (g, own(s)))
TROUPE_PER_THREAD(cudaGraphUpload, (cudaGraphExec_t g, cudaStream_t s), (g, own(s)))
TROUPE_PER_THREAD(cudaLaunchCooperativeKernel, (const void* f, dim3 g, dim3 b, void** a, size_t n, cudaStream_t s), (f, g, b, a, n, own(s)))
TROUPE_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t f, void* a), (own(s), f, a))
TROUPE_PER_THREAD(cudaLaunchKernel, (const void* f, dim3 g, dim3 b, void** a, size_t n, cudaStream_t s), (f, g, b, a, n, own(s)))
TROUPE_PER_THREAD(cudaMallocAsync, (void** p, size_t n, cudaStream_t s), (p, n, own(s)))
TROUPE_PER_THREAD(cudaMallocFromPoolAsync, (void** p, size_t n, cudaMemPool_t m, cudaStream_t s), (p, n, m, own(s)))
TROUPE_PER_THREAD(cudaMemPrefetchAsync, (const void* p, size_t n, cudaMemLocation l, unsigned f, cudaStream_t s), (p, n, l, f, own(s)))
TROUPE_PER_THREAD(cudaMemcpy2DAsync, (void* t, size_t tp, const void* f, size_t fp, size_t w, size_t h, cudaMemcpyKind k, cudaStream_t s), (t, tp, f, fp, w, h, k, own(s)))
TROUPE_PER_THREAD(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* p, cudaStream_t s), (p, own(s)))
TROUPE_PER_THREAD(cudaMemcpyAsync, (void* t, const void* f, size_t n, cudaMemcpyKind k, cudaStream_t s), (t, f, n, k, own(s)))
TROUPE_PER_THREAD(cudaMemcpyFromSymbolAsync, (void* t, const void* y, size_t n, size_t o, cudaMemcpyKind k, cudaStream_t s), (t, y, n, o, k, own(s)))
TROUPE_PER_THREAD(cudaMemcpyToSymbolAsync, (const void* y, const void* f, size_t n, size_t o, cudaMemcpyKind k, cudaStream_t s), (y, f, n, o, k, own(s)))
TROUPE_PER_THREAD(cudaMemset2DAsync, (void* t, size_t p, int v, size_t w, size_t h, cudaStream_t s), (t, p, v, w, h, own(s)))
TROUPE_PER_THREAD(cudaMemsetAsync, (void* t, int v, size_t n, cudaStream_t s), (t, v, n, own(s)))
TROUPE_PER_THREAD(cudaStreamAddCallback, (cudaStream_t s, cudaStreamCallback_t f, void* a, unsigned g), (own(s), f, a, g))
TROUPE_PER_THREAD(cudaStreamAttachMemAsync, (cudaStream_t s, void* p, size_t n, unsigned f), (own(s), p, n, f))
TROUPE_PER_THREAD(cudaStreamBeginCapture, (cudaStream_t s, cudaStreamCaptureMode m), (own(s), m))
TROUPE_PER_THREAD(cudaStreamBeginCaptureToGraph, (cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t* d, const cudaGraphEdgeData* e, size_t n, cudaStreamCaptureMode m), (own(s), g, d, e, n, m))
TROUPE_PER_THREAD(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t* g), (own(s), g))
TROUPE_PER_THREAD(cudaStreamGetCaptureInfo, (cudaStream_t s, cudaStreamCaptureStatus* c, unsigned long long* i, cudaGraph_t* g, const cudaGraphNode_t** d, const cudaGraphEdgeData** e, size_t* n), (own(s), c, i, g, d, e, n))
TROUPE_PER_THREAD(cudaStreamGetDevice, (cudaStream_t s, int* d), (own(s), d))
TROUPE_PER_THREAD(cudaStreamGetFlags, (cudaStream_t s, unsigned* f), (own(s), f))
TROUPE_PER_THREAD(cudaStreamGetId, (cudaStream_t s, unsigned long long* i), (own(s), i))
TROUPE_PER_THREAD(cudaStreamGetPriority, (cudaStream_t s, int* p), (own(s), p))
TROUPE_PER_THREAD(cudaStreamIsCapturing, (cudaStream_t s, cudaStreamCaptureStatus* c), (own(s), c))
TROUPE_PER_THREAD(cudaStreamQuery, (cudaStream_t s), (own(s)))
TROUPE_PER_THREAD(cudaStreamSynchronize, (cudaStream_t s), (own(s)))
TROUPE_PER_THREAD(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned f), (own(s), e, f))

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* how, const void* function, void** arguments) {
  if (!how) return cudaLaunchKernelExC(how, function, arguments);
  const auto mine = own(how);
  return cudaLaunchKernelExC(&mine, function, arguments);
}
}
// clang-format on
