// operation_calls: NCCL's collectives, messages and reductions.
#include <cstring>
#include <optional>

#include "interpose/nccl/call_site.hpp"
#include "interpose/nccl/group.hpp"
#include "interpose/nccl/twins.hpp"

using namespace troupe;

namespace {

std::optional<element_type> type_of(ncclDataType_t type) {
  constexpr element_type types[] = {element_type::i8,   element_type::u8,     element_type::i32,
                                    element_type::u32,  element_type::i64,    element_type::u64,
                                    element_type::f16,  element_type::f32,    element_type::f64,
                                    element_type::bf16, element_type::f8e4m3, element_type::f8e5m2};
  static_assert(std::size(types) == ncclNumTypes);
  if (type < 0 || type >= ncclNumTypes) return std::nullopt;
  return types[type];
}

/// A call as it was made; what does not fit is said with its name.
struct made_call {
  const char* name;
  operation op;
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  const void* from;  ///< return address
  int root = 0;
  std::optional<ncclRedOp_t> reduce = std::nullopt;
};

ncclResult_t make(const made_call& made) {
  auto& group = call_group::of_this_thread();
  const auto wrong = [&](const std::string& why) {
    return group.note(refuse(ncclInvalidArgument, std::string(made.name) + ": " + why));
  };
  if (!made.comm || !made.comm->held) return wrong("comm is no communicator");
  const auto on = made.comm->held;
  if (auto unusable = on->usable(); unusable != ncclSuccess) return group.note(unusable);
  const auto type = type_of(made.type);
  if (!type) return wrong("there is no type " + std::to_string(made.type));
  if (made.root < 0 || made.root >= on->size())
    return wrong("there is no rank " + std::to_string(made.root) + " among "
                 + std::to_string(on->size()));
  nccl_call call{on, made.stream, made.op, *type};
  call.count = made.count;
  call.root = made.root;
  call.input = made.input;
  call.output = made.output;
  if (made.reduce) {
    constexpr reduction reductions[] = {reduction::sum, reduction::prod, reduction::max,
                                        reduction::min, reduction::avg};
    const auto op = static_cast<int>(*made.reduce);
    if (op >= 0 && op < ncclNumOps) {
      call.reduce = reductions[op];
    } else {
      call.premultiplied = on->premultiplied(*made.reduce);
      if (!call.premultiplied) return wrong("there is no reduction " + std::to_string(op));
      if (call.premultiplied->type != *type)
        return wrong("the reduction was made for another type");
      call.reduce = reduction::sum;
    }
  }
  if (made.count == 0 && !is_point_to_point(made.op)) return ncclSuccess;
  if (made.op == operation::reduce_scatter || made.op == operation::all_to_all)
    call.count *= static_cast<std::uint64_t>(on->size());
  const collective_call what{call.op, call.type, call.reduce, call.count, call.root,
                             0,       {},        {},          true};
  const auto rank = static_cast<std::uint32_t>(on->rank());
  const auto size = static_cast<std::uint32_t>(on->size());
  if (auto possible = validate(what, rank, size); !possible) return wrong(possible.error().context);
  if ((input_count(what, rank, size) > 0 && !made.input)
      || (output_count(what, rank, size) > 0 && !made.output))
    return wrong("a buffer is NULL");
  call.site = call_site_of(made.from);
  return group.note(group.add(std::move(call)));
}

}  // namespace

#define TROUPE_CALLED_FROM __builtin_return_address(0)

extern "C" {

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclAllReduce", operation::all_reduce, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, 0, op});
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclReduce", operation::reduce, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, root, op});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclReduceScatter", operation::reduce_scatter, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, 0, op});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclBroadcast", operation::broadcast, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, root});
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return make({"ncclBcast", operation::broadcast, buffer, buffer, count, type, comm, stream,
               TROUPE_CALLED_FROM, root});
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclAllGather", operation::all_gather, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM});
}
ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclAlltoAll", operation::all_to_all, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM});
}
ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclGather", operation::gather, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, root});
}
ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclScatter", operation::scatter, from, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, root});
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return make({"ncclSend", operation::send, from, nullptr, count, type, comm, stream,
               TROUPE_CALLED_FROM, peer});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return make({"ncclRecv", operation::recv, nullptr, to, count, type, comm, stream,
               TROUPE_CALLED_FROM, peer});
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  const auto element = type_of(type);
  if (!op || !scalar || !element || !comm || !comm->held)
    return refuse(ncclInvalidArgument,
                  "ncclRedOpCreatePreMulSum: no room, no scalar, no type or no communicator");
  if (auto wrong = comm->held->usable(); wrong != ncclSuccess) return wrong;
  premultiplication made{*element, {}, nullptr};
  if (residence == ncclScalarHostImmediate) {
    const auto* bytes = static_cast<const std::byte*>(scalar);
    made.scalar.assign(bytes, bytes + size_of(*element));
  } else if (residence == ncclScalarDevice) {
    made.on_device = scalar;
  } else {
    return refuse(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: the scalar is nowhere");
  }
  *op = comm->held->add(std::move(made));
  return ncclSuccess;
}

/// Operations that were queued have what they need.
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (!comm || !comm->held || !comm->held->drop(op))
    return refuse(ncclInvalidArgument, "ncclRedOpDestroy: there is no such reduction");
  return ncclSuccess;
}

}  // extern "C"

TROUPE_NCCL_TWIN(ncclAllReduce)
TROUPE_NCCL_TWIN(ncclReduce)
TROUPE_NCCL_TWIN(ncclReduceScatter)
TROUPE_NCCL_TWIN(ncclBroadcast)
TROUPE_NCCL_TWIN(ncclBcast)
TROUPE_NCCL_TWIN(ncclAllGather)
TROUPE_NCCL_TWIN(ncclAlltoAll)
TROUPE_NCCL_TWIN(ncclGather)
TROUPE_NCCL_TWIN(ncclScatter)
TROUPE_NCCL_TWIN(ncclSend)
TROUPE_NCCL_TWIN(ncclRecv)
TROUPE_NCCL_TWIN(ncclRedOpCreatePreMulSum)
TROUPE_NCCL_TWIN(ncclRedOpDestroy)
