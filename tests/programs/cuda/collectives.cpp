// collectives: what NCCL's operations give, against values: every rank a process. One part an
// argument.
#include <map>

#include "tests/programs/cuda/nccl.hpp"

namespace {

using values = std::vector<float>;

/// `count` floats: base, base + 1, …
values from(float base, std::size_t count) {
  values all(count);
  for (std::size_t n = 0; n < count; ++n) all[n] = base + static_cast<float>(n);
  return all;
}
values filled(std::size_t count, float value) { return values(count, value); }

void collectives() {
  const auto me = join_world();
  const auto r = static_cast<float>(me.rank), n = static_cast<float>(me.size);
  const auto size = static_cast<std::size_t>(me.size);
  const float sum = n * (n - 1) / 2;
  for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{300'000}}) {
    auto* in = to_device(from(100 * r, count));
    auto* out = to_device(filled(count * size, -1));
    const auto all = [&](std::size_t wanted) { return from_device(out, wanted, me.stream); };
    NCCL(ncclAllReduce(in, out, count, ncclFloat, ncclSum, me.comm, me.stream));
    auto got = all(count);
    CHECK(got[0] == 100 * sum && got[count - 1] == 100 * sum + n * static_cast<float>(count - 1));
    NCCL(ncclAllReduce(in, out, count, ncclFloat, ncclMax, me.comm, me.stream));
    CHECK(all(count) == from(100 * (n - 1), count));
    NCCL(ncclAllReduce(in, out, count, ncclFloat, ncclAvg, me.comm, me.stream));
    CHECK(all(1)[0] == 100 * sum / n);
    CUDA(cudaMemcpyAsync(out, in, count * 4, cudaMemcpyDeviceToDevice, me.stream));
    NCCL(ncclAllReduce(out, out, count, ncclFloat, ncclMin, me.comm, me.stream));  // in place
    CHECK(all(count) == from(0, count));
    const int root = me.size - 1;
    NCCL(ncclReduce(in, out, count, ncclFloat, ncclSum, root, me.comm, me.stream));
    CHECK(all(1)[0] == (me.rank == root ? 100 * sum : 0));
    NCCL(ncclBroadcast(in, out, count, ncclFloat, root, me.comm, me.stream));
    CHECK(all(count) == from(100 * (n - 1), count));
    NCCL(ncclBcast(out, count, ncclFloat, 0, me.comm, me.stream));
    NCCL(ncclAllGather(in, out, count, ncclFloat, me.comm, me.stream));
    got = all(count * size);
    for (std::size_t k = 0; k < size; ++k)
      CHECK(got[k * count] == 100 * static_cast<float>(k)
            && got[(k + 1) * count - 1]
                   == 100 * static_cast<float>(k) + static_cast<float>(count - 1));
    auto* wide = to_device(from(r, count * size));
    NCCL(ncclReduceScatter(wide, out, count, ncclFloat, ncclSum, me.comm, me.stream));
    CHECK(all(1)[0] == sum + n * r * static_cast<float>(count));
    NCCL(ncclAlltoAll(wide, out, count, ncclFloat, me.comm, me.stream));
    got = all(count * size);
    for (std::size_t k = 0; k < size; ++k)
      CHECK(got[k * count] == static_cast<float>(k) + r * static_cast<float>(count));
    NCCL(ncclGather(in, out, count, ncclFloat, 0, me.comm, me.stream));
    if (me.rank == 0) CHECK(all(count * size)[(size - 1) * count] == 100 * (n - 1));
    NCCL(ncclScatter(wide, out, count, ncclFloat, 0, me.comm, me.stream));
    CHECK(all(count) == from(r * static_cast<float>(count), count));
    const int next = (me.rank + 1) % me.size, before = (me.rank + me.size - 1) % me.size;
    NCCL(ncclGroupStart());
    NCCL(ncclSend(in, count, ncclFloat, next, me.comm, me.stream));
    NCCL(ncclRecv(out, count, ncclFloat, before, me.comm, me.stream));
    NCCL(ncclGroupEnd());
    CHECK(all(count) == from(100 * static_cast<float>(before), count));
    for (auto* at : {in, out, wide}) CUDA(cudaFree(at));
  }
  NCCL(ncclCommDestroy(me.comm));
}

template <class T>
void sums_of(const member& me, ncclDataType_t type, T one, T all) {
  auto* at = to_device(std::vector<T>(9, one));
  NCCL(ncclAllReduce(at, at, 9, type, ncclSum, me.comm, me.stream));
  CHECK(from_device(at, 9, me.stream) == std::vector<T>(9, all));
  CUDA(cudaFree(at));
}

void types() {
  const auto me = join_world();
  const auto n = static_cast<std::uint64_t>(me.size);
  sums_of<std::int8_t>(me, ncclInt8, 3, static_cast<std::int8_t>(3 * n));
  sums_of<std::uint8_t>(me, ncclUint8, 200, static_cast<std::uint8_t>(200 * n));
  sums_of<std::int32_t>(me, ncclInt32, -7, static_cast<std::int32_t>(-7 * static_cast<int>(n)));
  sums_of<std::uint32_t>(me, ncclUint32, 0xf0000000u, static_cast<std::uint32_t>(0xf0000000u * n));
  sums_of<std::int64_t>(me, ncclInt64, -(1ll << 40), -(1ll << 40) * static_cast<std::int64_t>(n));
  sums_of<std::uint64_t>(me, ncclUint64, 1ull << 63, (1ull << 63) * n);
  sums_of<std::uint16_t>(me, ncclFloat16, 0x3c00, me.size == 4 ? 0x4400 : 0x4000);  // 1 → n
  sums_of<std::uint16_t>(me, ncclBfloat16, 0x3f80, me.size == 4 ? 0x4080 : 0x4000);
  sums_of<double>(me, ncclFloat64, 0.25, 0.25 * static_cast<double>(n));
  sums_of<std::uint8_t>(me, ncclFloat8e4m3, 0x38, me.size == 4 ? 0x48 : 0x40);
  sums_of<std::uint8_t>(me, ncclFloat8e5m2, 0x3c, me.size == 4 ? 0x44 : 0x40);
  // The largest of unsigned numbers is not the smallest of signed ones.
  auto* at = to_device(std::vector<std::uint64_t>{me.rank == 0 ? 1ull << 63 : 1ull});
  NCCL(ncclAllReduce(at, at, 1, ncclUint64, ncclMax, me.comm, me.stream));
  CHECK(from_device(at, 1, me.stream)[0] == 1ull << 63);
  // Factors, of each rank its own: given at once, or read when the operation runs.
  ncclRedOp_t now, later;
  float factor = static_cast<float>(me.rank + 1);
  auto* on_device = to_device(std::vector<float>{-1});
  NCCL(ncclRedOpCreatePreMulSum(&now, &factor, ncclFloat, ncclScalarHostImmediate, me.comm));
  NCCL(ncclRedOpCreatePreMulSum(&later, on_device, ncclFloat, ncclScalarDevice, me.comm));
  auto *ones = to_device(filled(3, 1)), *out = to_device(filled(3, 0)),
       *again = to_device(filled(3, 0));
  CUDA(cudaMemcpyAsync(on_device, &factor, 4, cudaMemcpyHostToDevice, me.stream));
  NCCL(ncclAllReduce(ones, out, 3, ncclFloat, now, me.comm, me.stream));
  NCCL(ncclAllReduce(ones, again, 3, ncclFloat, later, me.comm, me.stream));
  NCCL(ncclRedOpDestroy(now, me.comm));
  NCCL(ncclRedOpDestroy(later, me.comm));
  NCCL_ANSWERS(ncclRedOpDestroy(now, me.comm), ncclInvalidArgument);
  const auto n_float = static_cast<float>(me.size);
  CHECK(from_device(out, 3, me.stream) == filled(3, n_float * (n_float + 1) / 2));
  CHECK(from_device(again, 3, me.stream) == filled(3, n_float * (n_float + 1) / 2));
  NCCL(ncclCommDestroy(me.comm));
}

void groups() {
  const auto me = join_world();
  std::vector<float*> at;
  for (int k = 0; k < 10; ++k) at.push_back(to_device(filled(4, static_cast<float>(k))));
  NCCL(ncclGroupStart());
  for (int k = 0; k < 10; ++k) {
    NCCL(ncclGroupStart());
    auto* here = at[static_cast<std::size_t>(k)];
    NCCL(ncclAllReduce(here, here, 4, ncclFloat, ncclSum, me.comm, me.stream));
    NCCL(ncclGroupEnd());
  }
  CUDA(cudaStreamQuery(me.stream));  // nothing is queued before the outermost end
  NCCL(ncclGroupEnd());
  for (int k = 0; k < 10; ++k)
    CHECK(from_device(at[static_cast<std::size_t>(k)], 4, me.stream)
          == filled(4, static_cast<float>(k * me.size)));
  // An error is the whole group's, whatever comes after it.
  NCCL(ncclGroupStart());
  NCCL_ANSWERS(ncclAllReduce(at[0], at[0], 4, ncclNumTypes, ncclSum, me.comm, me.stream),
               ncclInvalidArgument);
  NCCL(ncclAllReduce(at[1], at[1], 4, ncclFloat, ncclSum, me.comm, me.stream));
  NCCL_ANSWERS(ncclGroupEnd(), ncclInvalidArgument);
  NCCL_ANSWERS(ncclGroupEnd(), ncclInvalidUsage);
  CHECK(from_device(at[1], 1, me.stream)[0] == static_cast<float>(me.size));
  // Out of memory within a group, too.
  NCCL(ncclGroupStart());
  void* none = nullptr;
  NCCL_ANSWERS(ncclMemAlloc(&none, std::size_t{1} << 40), ncclUnhandledCudaError);
  NCCL(ncclAllReduce(at[1], at[1], 4, ncclFloat, ncclMax, me.comm, me.stream));
  NCCL(ncclGroupEnd());
  CHECK(from_device(at[1], 1, me.stream)[0] == static_cast<float>(me.size));
  // Everybody to everybody.
  auto *in = to_device(filled(static_cast<std::size_t>(me.size), static_cast<float>(me.rank))),
       *out = to_device(filled(static_cast<std::size_t>(me.size), -1));
  NCCL(ncclGroupStart());
  for (int peer = 0; peer < me.size; ++peer) {
    NCCL(ncclSend(in + peer, 1, ncclFloat, peer, me.comm, me.stream));
    NCCL(ncclRecv(out + peer, 1, ncclFloat, peer, me.comm, me.stream));
  }
  NCCL(ncclGroupEnd());
  CHECK(from_device(out, static_cast<std::size_t>(me.size), me.stream)
        == from(0, static_cast<std::size_t>(me.size)));
  NCCL(ncclCommDestroy(me.comm));
}

void communicators() {
  auto me = join_world();
  int value = -1;
  NCCL(ncclCommCount(me.comm, &value));
  CHECK(value == me.size);
  NCCL(ncclCommUserRank(me.comm, &value));
  CHECK(value == me.rank);
  NCCL(ncclCommCuDevice(me.comm, &value));
  CHECK(value == number_in("LOCAL_RANK"));
  // Halves, the second in reverse; nobody is left alone with another half's values.
  ncclComm_t half = nullptr, none = nullptr, rest = nullptr;
  const bool second = me.rank >= me.size / 2;
  NCCL(ncclCommSplit(me.comm, second, second ? -me.rank : me.rank, &half, nullptr));
  NCCL(ncclCommUserRank(half, &value));
  CHECK(value == (second ? me.size - 1 - me.rank : me.rank));
  auto* at = to_device(filled(2, static_cast<float>(me.rank)));
  NCCL(ncclAllReduce(at, at, 2, ncclFloat, ncclMax, half, me.stream));
  CHECK(from_device(at, 2, me.stream)
        == filled(2, static_cast<float>(second ? me.size - 1 : me.size / 2 - 1)));
  NCCL(ncclCommSplit(me.comm, me.rank == 0 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &none, nullptr));
  CHECK((none != nullptr) == (me.rank == 0));
  if (me.rank > 0) {
    int excluded[] = {0};
    NCCL(ncclCommShrink(me.comm, excluded, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT));
    NCCL(ncclCommUserRank(rest, &value));
    CHECK(value == me.rank - 1);
    NCCL(ncclAllReduce(at, at, 1, ncclFloat, ncclSum, rest, me.stream));
    NCCL(ncclCommDestroy(rest));
  }
  // One that is not waited for.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "patient";
  ncclComm_t patient = nullptr;
  NCCL_ANSWERS(ncclCommInitRankConfig(&patient, me.size, shared_id("patient"), me.rank, &config),
               ncclInProgress);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) NCCL(ncclCommGetAsyncError(patient, &state));
  CHECK(state == ncclSuccess);
  remove_shared_files();
  auto* one = to_device(filled(1, 1));
  NCCL(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, patient, me.stream));
  CHECK(from_device(one, 1, me.stream)[0] == static_cast<float>(me.size));
  NCCL(ncclGroupStart());
  NCCL(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, patient, me.stream));
  NCCL(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, me.comm, me.stream));
  NCCL_ANSWERS(ncclGroupEnd(), ncclInvalidArgument);
  // Bad words.
  ncclComm_t bad = nullptr;
  NCCL_ANSWERS(ncclCommInitRank(&bad, me.size, {}, me.size), ncclInvalidArgument);
  NCCL_ANSWERS(ncclAllReduce(nullptr, one, 1, ncclFloat, ncclSum, me.comm, me.stream),
               ncclInvalidArgument);
  NCCL_ANSWERS(ncclReduce(one, one, 1, ncclFloat, ncclSum, me.size, me.comm, me.stream),
               ncclInvalidArgument);
  NCCL_ANSWERS(
      ncclAllReduce(one, one, 1, ncclFloat, static_cast<ncclRedOp_t>(77), me.comm, me.stream),
      ncclInvalidArgument);
  NCCL(ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, me.comm, me.stream));
  ncclWindow_t window = reinterpret_cast<ncclWindow_t>(&bad);
  NCCL(ncclCommWindowRegister(me.comm, one, 4, &window, NCCL_WIN_DEFAULT));
  CHECK(window == reinterpret_cast<ncclWindow_t>(&bad));
  NCCL(ncclCommFinalize(me.comm));
  NCCL_ANSWERS(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, me.comm, me.stream),
               ncclInvalidUsage);
  for (auto comm : {me.comm, half, none, patient}) NCCL(ncclCommDestroy(comm));
}

void graphs() {
  const auto me = join_world();
  auto* at = to_device(filled(4, 1));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  CUDA(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeGlobal));
  NCCL(ncclAllReduce(at, at, 4, ncclFloat, ncclSum, me.comm, me.stream));
  NCCL(ncclAllReduce(at, at, 4, ncclFloat, ncclSum, me.comm, me.stream));
  CUDA(cudaStreamEndCapture(me.stream, &graph));
  CUDA(cudaGraphInstantiate(&ready, graph, 0));
  auto* other = to_device(filled(1, 2));
  CUDA(cudaGraphLaunch(ready, me.stream));
  NCCL(ncclAllReduce(other, other, 1, ncclFloat, ncclSum, me.comm, me.stream));
  CUDA(cudaGraphLaunch(ready, me.stream));
  const auto n = static_cast<float>(me.size);
  CHECK(from_device(at, 4, me.stream) == filled(4, n * n * n * n));
  CHECK(from_device(other, 1, me.stream)[0] == 2 * n);
  CUDA(cudaGraphExecDestroy(ready));
  NCCL(ncclCommDestroy(me.comm));
}

/// The last rank gives up while the others wait for it; they learn of it and give up too.
void aborts() {
  const auto me = join_world();
  auto* at = to_device(filled(100'000, 1));
  if (me.rank == me.size - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    NCCL(ncclCommAbort(me.comm));
    return;
  }
  NCCL(ncclAllReduce(at, at, 100'000, ncclFloat, ncclSum, me.comm, me.stream));
  ncclResult_t state = ncclSuccess;
  while (cudaStreamQuery(me.stream) == cudaErrorNotReady && state == ncclSuccess)
    NCCL(ncclCommGetAsyncError(me.comm, &state));
  CHECK(state == ncclRemoteError);
  NCCL(ncclCommAbort(me.comm));
  CUDA(cudaStreamSynchronize(me.stream));
  CUDA(cudaFree(at));
}

}  // namespace

int main(int count, char** words) {
  const std::map<std::string, void (*)()> parts = {
      {"collectives", collectives},     {"types", types},   {"groups", groups},
      {"communicators", communicators}, {"graphs", graphs}, {"aborts", aborts}};
  const auto part = count > 1 ? parts.find(words[1]) : parts.end();
  if (part == parts.end()) return 2;
  part->second();
  return 0;
}
