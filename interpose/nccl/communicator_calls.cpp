// communicator_calls: NCCL's calls that make, ask about and end communicators.
#include <sys/random.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "interpose/client/troupe_client.h"
#include "interpose/nccl/group.hpp"
#include "interpose/nccl/settings.hpp"
#include "interpose/nccl/twins.hpp"

using namespace troupe;

namespace {

constexpr unsigned config_magic = 0xcafebeef;

std::string text_of(const ncclUniqueId& id) {
  std::string text = "nccl/";
  for (int at = 0; at < 16; ++at) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(id.internal[at]));
    text += digits;
  }
  return text;
}

/// What the program asks for, or the answer to a structure that is none.
ncclResult_t read(const ncclConfig_t* config, bool& blocking, std::string& name) {
  blocking = settings().blocking;
  if (!config) return ncclSuccess;
  if (config->magic != config_magic)
    return refuse(ncclInvalidArgument, "an ncclConfig_t without NCCL_CONFIG_INITIALIZER");
  if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1)
    return refuse(ncclInvalidArgument, "ncclConfig_t: blocking is neither 0 nor 1");
  if (config->blocking != NCCL_CONFIG_UNDEF_INT) blocking = config->blocking != 0;
  if (config->version >= 22700 && config->commName) name = config->commName;
  return ncclSuccess;
}

/// Which of the run's hosts this is.
int host_number() {
  const char* text = std::getenv("GROUP_RANK");
  return text ? std::atoi(text) : 0;
}

/// Begins a communicator on the device and waits for it, in the group's time.
ncclResult_t begin(ncclComm_t* where, const std::string& key, meeting_member me, int device,
                   bool blocking, const std::string& name) {
  me.device = device < 0 ? device : troupe_device_on_host(device);
  if (me.device < 0) return refuse(ncclUnhandledCudaError, "there is no CUDA device");
  if (!troupe_connected())
    return refuse(ncclSystemError,
                  "there is no run to take part in: start the program with troupe run");
  me.host = host_number();
  me.process = troupe_rank();
  std::shared_ptr<communicator> made;
  if (auto failed = communicator::begin(key, me, device, blocking, name, made);
      failed != ncclSuccess)
    return failed;
  *where = new ncclComm{made};
  return call_group::of_this_thread().add(std::move(made), where);
}

ncclResult_t init(ncclComm_t* where, int ranks, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config) {
  if (!where) return refuse(ncclInvalidArgument, "ncclCommInitRank: comm is NULL");
  *where = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(ncclInvalidArgument, "ncclCommInitRank: rank " + std::to_string(rank) + " of "
                                           + std::to_string(ranks));
  bool blocking = true;
  std::string name;
  if (auto wrong = read(config, blocking, name); wrong != ncclSuccess) return wrong;
  const auto unsigned_rank = static_cast<std::uint32_t>(rank);
  return begin(where, text_of(id),
               {unsigned_rank, static_cast<std::uint32_t>(ranks), 0, rank, 0, 0, 0},
               troupe_device_current(), blocking, name);
}

/// The communicator behind a handle that may be used for `call`.
ncclResult_t known(ncclComm_t comm, const char* call, std::shared_ptr<communicator>& found) {
  if (!comm || !comm->held)
    return refuse(ncclInvalidArgument, std::string(call) + ": comm is no communicator");
  found = comm->held;
  return ncclSuccess;
}

template <class Value>
ncclResult_t tell(ncclComm_t comm, const char* call, int* to, Value value) {
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, call, found); wrong != ncclSuccess) return wrong;
  if (!to) return refuse(ncclInvalidArgument, std::string(call) + ": no place for the answer");
  if (auto wrong = found->usable(); wrong != ncclSuccess) return wrong;
  *to = value(*found);
  return ncclSuccess;
}

ncclResult_t finish(communicator& one) {
  if (!one.is_aborted() && one.exists()) troupe_device_wait_for(one.order());
  one.finalize();
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return refuse(ncclInvalidArgument, "ncclGetVersion: version is NULL");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return refuse(ncclInvalidArgument, "ncclGetUniqueId: uniqueId is NULL");
  if (::getrandom(id->internal, sizeof id->internal, 0)
      != static_cast<ssize_t>(sizeof id->internal))
    return refuse(ncclSystemError, "no random numbers for a unique id");
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return call_group::of_this_thread().note(init(comm, ranks, id, rank, nullptr));
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return call_group::of_this_thread().note(init(comm, ranks, id, rank, config));
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int ids,
                                      ncclUniqueId* all, ncclConfig_t* config) {
  auto& group = call_group::of_this_thread();
  if (ids < 1 || ids > ranks || !all)
    return group.note(refuse(ncclInvalidArgument, "ncclCommInitRankScalable: no unique ids"));
  return group.note(init(comm, ranks, all[0], rank, config));
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  if (!comms || devices < 1)
    return refuse(ncclInvalidArgument, "ncclCommInitAll: no room, or no devices");
  ncclUniqueId id;
  int before = 0;
  if (auto failed = ncclGetUniqueId(&id); failed != ncclSuccess) return failed;
  if (cudaGetDevice(&before) != cudaSuccess) return ncclUnhandledCudaError;
  ncclGroupStart();
  for (int n = 0; n < devices; ++n) {
    if (cudaSetDevice(list ? list[n] : n) != cudaSuccess)
      call_group::of_this_thread().note(
          refuse(ncclUnhandledCudaError,
                 "ncclCommInitAll: there is no device " + std::to_string(list ? list[n] : n)));
    else
      ncclCommInitRank(comms + n, devices, id, n);
  }
  cudaSetDevice(before);
  return ncclGroupEnd();
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made,
                           ncclConfig_t* config) {
  auto& group = call_group::of_this_thread();
  std::shared_ptr<communicator> parent;
  if (auto wrong = known(comm, "ncclCommSplit", parent); wrong != ncclSuccess)
    return group.note(wrong);
  if (auto wrong = parent->usable(); wrong != ncclSuccess) return group.note(wrong);
  if (!made || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return group.note(refuse(ncclInvalidArgument, "ncclCommSplit: no room, or a colour below 0"));
  *made = nullptr;
  bool blocking = parent->blocking();
  std::string name;
  if (config)
    if (auto wrong = read(config, blocking, name); wrong != ncclSuccess) return group.note(wrong);
  return group.note(begin(made, parent->key_for_child("split"),
                          {static_cast<std::uint32_t>(parent->rank()),
                           static_cast<std::uint32_t>(parent->size()), color, key, 0, 0, 0},
                          parent->device(), blocking, name));
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* made,
                            ncclConfig_t* config, int flags) {
  auto& group = call_group::of_this_thread();
  std::shared_ptr<communicator> parent;
  if (auto wrong = known(comm, "ncclCommShrink", parent); wrong != ncclSuccess)
    return group.note(wrong);
  const auto is_excluded = [&](int rank) {
    return std::find(excluded, excluded + count, rank) != excluded + count;
  };
  if (!made || !excluded || count < 1 || count >= parent->size() || is_excluded(parent->rank()))
    return group.note(refuse(ncclInvalidArgument,
                             "ncclCommShrink: no room, no or too many ranks to exclude, or its "
                             "own among them"));
  *made = nullptr;
  if (flags & NCCL_SHRINK_ABORT)
    parent->abort();
  else if (auto wrong = parent->usable(); wrong != ncclSuccess)
    return group.note(wrong);
  bool blocking = parent->blocking();
  std::string name;
  if (config)
    if (auto wrong = read(config, blocking, name); wrong != ncclSuccess) return group.note(wrong);
  int before = 0;  // its ranks that are excluded and come before this one
  for (int rank = 0; rank < parent->rank(); ++rank) before += is_excluded(rank);
  return group.note(begin(made, parent->key_for_child("shrink"),
                          {static_cast<std::uint32_t>(parent->rank() - before),
                           static_cast<std::uint32_t>(parent->size() - count), 0, 0, 0, 0, 0},
                          parent->device(), blocking, name));
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, "ncclCommFinalize", found); wrong != ncclSuccess) return wrong;
  if (auto wrong = found->usable(); wrong != ncclSuccess) return wrong;
  return finish(*found);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, "ncclCommDestroy", found); wrong != ncclSuccess) return wrong;
  if (found->state() != ncclInProgress) finish(*found);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, "ncclCommAbort", found); wrong != ncclSuccess) return wrong;
  found->abort();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, "ncclCommRevoke", found); wrong != ncclSuccess) return wrong;
  if (flags != NCCL_REVOKE_DEFAULT)
    return refuse(ncclInvalidArgument, "ncclCommRevoke: flags must be 0");
  found->abort();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  std::shared_ptr<communicator> found;
  if (auto wrong = known(comm, "ncclCommGetAsyncError", found); wrong != ncclSuccess) return wrong;
  if (!error) return refuse(ncclInvalidArgument, "ncclCommGetAsyncError: asyncError is NULL");
  *error = found->state();
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return tell(comm, "ncclCommCount", count, [](communicator& one) { return one.size(); });
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return tell(comm, "ncclCommCuDevice", device, [](communicator& one) { return one.device(); });
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return tell(comm, "ncclCommUserRank", rank, [](communicator& one) { return one.rank(); });
}

ncclResult_t ncclGroupStart() {
  call_group::of_this_thread().start();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return call_group::of_this_thread().end(); }
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  const auto status = call_group::of_this_thread().simulate_end();
  if (info) info->estimatedTime = NCCL_UNDEF_FLOAT;  // nothing is modelled
  return status;
}

}  // extern "C"

TROUPE_NCCL_TWIN(ncclGetVersion)
TROUPE_NCCL_TWIN(ncclGetUniqueId)
TROUPE_NCCL_TWIN(ncclCommInitRank)
TROUPE_NCCL_TWIN(ncclCommInitRankConfig)
TROUPE_NCCL_TWIN(ncclCommInitRankScalable)
TROUPE_NCCL_TWIN(ncclCommInitAll)
TROUPE_NCCL_TWIN(ncclCommSplit)
TROUPE_NCCL_TWIN(ncclCommShrink)
TROUPE_NCCL_TWIN(ncclCommFinalize)
TROUPE_NCCL_TWIN(ncclCommDestroy)
TROUPE_NCCL_TWIN(ncclCommAbort)
TROUPE_NCCL_TWIN(ncclCommRevoke)
TROUPE_NCCL_TWIN(ncclCommGetAsyncError)
TROUPE_NCCL_TWIN(ncclCommCount)
TROUPE_NCCL_TWIN(ncclCommCuDevice)
TROUPE_NCCL_TWIN(ncclCommUserRank)
TROUPE_NCCL_TWIN(ncclGroupStart)
TROUPE_NCCL_TWIN(ncclGroupEnd)
TROUPE_NCCL_TWIN(ncclGroupSimulateEnd)
