// memory_calls: NCCL's calls about memory and errors.
#include "interpose/nccl/communicator.hpp"
#include "interpose/nccl/twins.hpp"

using namespace troupe;

extern "C" {

ncclResult_t ncclMemAlloc(void** at, size_t size) {
  if (!at || size == 0) return refuse(ncclInvalidArgument, "ncclMemAlloc: no room, or no bytes");
  if (const auto failed = cudaMalloc(at, size); failed != cudaSuccess)
    return refuse(ncclUnhandledCudaError,
                  std::string("ncclMemAlloc: ") + cudaGetErrorString(failed));
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* at) {
  if (const auto failed = cudaFree(at); failed != cudaSuccess)
    return refuse(ncclUnhandledCudaError,
                  std::string("ncclMemFree: ") + cudaGetErrorString(failed));
  return ncclSuccess;
}

// Memory need not be registered here; windows are not supported, which NCCL says by leaving *win
// as it is.

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t, void** handle) {
  if (!comm || !handle)
    return refuse(ncclInvalidArgument, "ncclCommRegister: comm or handle is NULL");
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void*) {
  return comm ? ncclSuccess : refuse(ncclInvalidArgument, "ncclCommDeregister: comm is NULL");
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void*, size_t, ncclWindow_t* window, int) {
  if (!comm || !window)
    return refuse(ncclInvalidArgument, "ncclCommWindowRegister: comm or win is NULL");
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t) {
  return comm ? ncclSuccess : refuse(ncclInvalidArgument, "ncclCommWindowDeregister: comm is NULL");
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t) { return last_refusal().c_str(); }

void ncclResetDebugInit() {}
void ncclResetDebugInitInternal() {}

}  // extern "C"

TROUPE_NCCL_TWIN(ncclMemAlloc)
TROUPE_NCCL_TWIN(ncclMemFree)
TROUPE_NCCL_TWIN(ncclCommRegister)
TROUPE_NCCL_TWIN(ncclCommDeregister)
TROUPE_NCCL_TWIN(ncclCommWindowRegister)
TROUPE_NCCL_TWIN(ncclCommWindowDeregister)
TROUPE_NCCL_TWIN(ncclGetErrorString)
TROUPE_NCCL_TWIN(ncclGetLastError)
extern "C" void pncclResetDebugInit() {}
