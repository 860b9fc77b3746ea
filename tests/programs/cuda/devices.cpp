// devices: processes that are several members of a communicator, one with each of their devices, in
// one thread or in as many. The first argument is the part, the second how many devices a process
// has; each part checks what it got.
#include <functional>
#include <map>
#include <string_view>

#include "tests/programs/cuda/nccl.hpp"

namespace {

using values = std::vector<float>;
int devices = 2;  ///< of this process

int first_device() { return number_in("LOCAL_RANK") * devices; }
float sum_of_ranks(int size) { return static_cast<float>(size * (size - 1)) / 2; }

/// Its members' communicators, streams and buffers.
struct device_member : member {
  int device = 0;
  float *in = nullptr, *out = nullptr;
};
constexpr std::size_t count = 20'000;  // beyond what goes in a frame

void make_buffers(device_member& one) {
  CUDA(cudaSetDevice(one.device));
  CUDA(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking));
  one.in = to_device(values(count, static_cast<float>(one.rank)));
  one.out = to_device(values(count, -1));
}

/// Numbered as the processes are, each one's devices one after another.
std::vector<device_member> numbered() {
  std::vector<device_member> all(static_cast<std::size_t>(devices));
  for (int n = 0; n < devices; ++n) {
    auto& one = all[static_cast<std::size_t>(n)];
    one.rank = my_rank() * devices + n;
    one.size = world_size() * devices;
    one.device = first_device() + n;
  }
  return all;
}

std::vector<device_member> join_in_a_group() {
  auto all = numbered();
  const auto id = shared_id();
  NCCL(ncclGroupStart());
  for (auto& one : all) {
    CUDA(cudaSetDevice(one.device));
    NCCL(ncclCommInitRank(&one.comm, one.size, id, one.rank));
  }
  NCCL(ncclGroupEnd());
  remove_shared_files();
  for (auto& one : all) make_buffers(one);
  return all;
}

void check_sum(device_member& one) {
  CUDA(cudaSetDevice(one.device));
  CHECK(from_device(one.out, count, one.stream) == values(count, sum_of_ranks(one.size)));
}

void grouped() {
  auto all = join_in_a_group();
  for (auto& one : all) {
    int rank = -1, size = -1, device = -1;
    NCCL(ncclCommUserRank(one.comm, &rank));
    NCCL(ncclCommCount(one.comm, &size));
    NCCL(ncclCommCuDevice(one.comm, &device));
    CHECK(rank == one.rank && size == one.size && device == one.device);
  }
  for (int round = 0; round < 3; ++round) {
    NCCL(ncclGroupStart());
    for (auto& one : all)
      NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
    NCCL(ncclGroupEnd());
    for (auto& one : all) check_sum(one);
  }
  // A ring of messages over all devices.
  NCCL(ncclGroupStart());
  for (auto& one : all) {
    NCCL(ncclSend(one.in, count, ncclFloat, (one.rank + 1) % one.size, one.comm, one.stream));
    NCCL(ncclRecv(one.out, count, ncclFloat, (one.rank + one.size - 1) % one.size, one.comm,
                  one.stream));
  }
  NCCL(ncclGroupEnd());
  for (auto& one : all) {
    CUDA(cudaSetDevice(one.device));
    CHECK(from_device(one.out, count, one.stream)
          == values(count, static_cast<float>((one.rank + one.size - 1) % one.size)));
  }
  for (auto& one : all) NCCL(ncclCommDestroy(one.comm));
}

/// Two communicators of each member in one group of calls: its own half, and all.
void halves() {
  auto all = join_in_a_group();
  std::vector<ncclComm_t> halves(all.size());
  NCCL(ncclGroupStart());
  for (std::size_t n = 0; n < all.size(); ++n)
    NCCL(ncclCommSplit(all[n].comm, all[n].rank % 2, -all[n].rank, &halves[n], nullptr));
  NCCL(ncclGroupEnd());
  std::vector<float*> own;
  for (auto& one : all) {
    CUDA(cudaSetDevice(one.device));
    own.push_back(to_device(values(count, -1)));
  }
  NCCL(ncclGroupStart());
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto& one = all[n];
    NCCL(ncclAllReduce(one.in, own[n], count, ncclFloat, ncclSum, halves[n], one.stream));
    NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
  }
  NCCL(ncclGroupEnd());
  for (std::size_t n = 0; n < all.size(); ++n) {
    check_sum(all[n]);
    float wanted = 0;
    for (int rank = all[n].rank % 2; rank < all[n].size; rank += 2)
      wanted += static_cast<float>(rank);
    CHECK(from_device(own[n], count, all[n].stream) == values(count, wanted));
    int device = -1;
    NCCL(ncclCommCuDevice(halves[n], &device));
    CHECK(device == all[n].device);
  }
}

/// A thread for each device, each of which does all that it does by itself.
void threads() {
  auto all = numbered();
  const auto id = shared_id();
  std::vector<std::thread> running;
  for (auto& one : all)
    running.emplace_back([&one, id] {
      CUDA(cudaSetDevice(one.device));
      NCCL(ncclCommInitRank(&one.comm, one.size, id, one.rank));
      make_buffers(one);
      for (int round = 0; round < 5; ++round) {
        NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
        check_sum(one);
      }
      NCCL(ncclCommDestroy(one.comm));
    });
  for (auto& one : running) one.join();
  remove_shared_files();
}

/// A communicator for each device's number, over the processes; all are made at the same time, none
/// has all the devices.
void columns() {
  auto all = numbered();
  std::vector<ncclUniqueId> ids;
  for (int n = 0; n < devices; ++n) ids.push_back(shared_id("column" + std::to_string(n)));
  std::vector<std::thread> running;
  for (std::size_t n = 0; n < all.size(); ++n)
    running.emplace_back([&one = all[n], id = ids[n]] {
      one.rank = my_rank();
      one.size = world_size();
      CUDA(cudaSetDevice(one.device));
      NCCL(ncclCommInitRank(&one.comm, one.size, id, one.rank));
      make_buffers(one);
      NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
      check_sum(one);
    });
  for (auto& one : running) one.join();
  remove_shared_files();
}

/// Threads that ask whether the stream is done, as nccl-tests does.
void polling() {
  auto all = join_in_a_group();
  std::vector<std::thread> running;
  for (auto& one : all)
    running.emplace_back([&one] {
      CUDA(cudaSetDevice(one.device));
      NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
      while (cudaStreamQuery(one.stream) == cudaErrorNotReady) {
        ncclResult_t error = ncclSuccess;
        NCCL(ncclCommGetAsyncError(one.comm, &error));
        CHECK(error == ncclSuccess);
      }
      check_sum(one);
    });
  for (auto& one : running) one.join();
}

void init_all() {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(devices));
  NCCL(ncclCommInitAll(comms.data(), devices, nullptr));
  auto all = numbered();
  for (std::size_t n = 0; n < all.size(); ++n) {
    all[n].comm = comms[n];
    make_buffers(all[n]);
  }
  NCCL(ncclGroupStart());
  for (auto& one : all)
    NCCL(ncclBroadcast(one.in, one.out, count, ncclFloat, devices - 1, one.comm, one.stream));
  NCCL(ncclGroupEnd());
  for (auto& one : all) {
    CUDA(cudaSetDevice(one.device));
    CHECK(from_device(one.out, count, one.stream)
          == values(count, static_cast<float>(devices - 1)));
  }
}

/// The last device never calls what the others wait for.
void absent() {
  auto all = join_in_a_group();
  NCCL(ncclGroupStart());
  for (std::size_t n = 0; n + 1 < all.size(); ++n)
    NCCL(ncclAllReduce(all[n].in, all[n].out, count, ncclFloat, ncclSum, all[n].comm,
                       all[n].stream));
  NCCL(ncclGroupEnd());
  check_sum(all.front());
}

/// Two devices, each of whose threads receives before it sends.
void facing() {
  auto all = join_in_a_group();
  std::vector<std::thread> running;
  for (auto& one : all)
    running.emplace_back([&one] {
      CUDA(cudaSetDevice(one.device));
      NCCL(ncclRecv(one.out, count, ncclFloat, 1 - one.rank, one.comm, one.stream));
      CUDA(cudaStreamSynchronize(one.stream));
      NCCL(ncclSend(one.in, count, ncclFloat, 1 - one.rank, one.comm, one.stream));
      CUDA(cudaStreamSynchronize(one.stream));
    });
  for (auto& one : running) one.join();
}

/// The second device gives the communicator up; the first one, whose call lacks it, learns of it.
void giving_up() {
  auto all = join_in_a_group();
  auto& first = all.front();
  NCCL(ncclAllReduce(first.in, first.out, count, ncclFloat, ncclSum, first.comm, first.stream));
  NCCL(ncclCommAbort(all[1].comm));
  ncclResult_t state = ncclSuccess;
  while (cudaStreamQuery(first.stream) == cudaErrorNotReady && state == ncclSuccess)
    NCCL(ncclCommGetAsyncError(first.comm, &state));
  CHECK(state == ncclRemoteError);
  CHECK(std::string_view(ncclGetLastError(nullptr)).find("rank 1 has aborted")
        != std::string_view::npos);
  NCCL(ncclCommAbort(first.comm));
  CUDA(cudaStreamSynchronize(first.stream));
}

void duplicate() {
  const int same[2] = {3, 3};
  ncclComm_t comms[2] = {};
  NCCL_ANSWERS(ncclCommInitAll(comms, 2, same), ncclInvalidUsage);
  CHECK(std::string_view(ncclGetLastError(nullptr)).find("Duplicate GPU detected")
        != std::string_view::npos);
  CHECK(comms[0] == nullptr && comms[1] == nullptr);
}

/// Every process takes its first device, as programs do that forget to choose.
void same_device() {
  ncclComm_t comm = nullptr;
  NCCL_ANSWERS(ncclCommInitRank(&comm, world_size(), shared_id(), my_rank()), ncclInvalidUsage);
  CHECK(std::string_view(ncclGetLastError(nullptr)).find("both on CUDA device 0")
        != std::string_view::npos);
  remove_shared_files();
}

/// Process 1 fails once all have met.
void failing() {
  auto all = join_in_a_group();
  if (my_rank() == 1) std::_Exit(3);
  NCCL(ncclGroupStart());
  for (auto& one : all)
    NCCL(ncclAllReduce(one.in, one.out, count, ncclFloat, ncclSum, one.comm, one.stream));
  NCCL(ncclGroupEnd());
  check_sum(all.front());
}

}  // namespace

int main(int words, char** word) {
  const std::map<std::string_view, std::function<void()>> parts = {
      {"grouped", grouped}, {"halves", halves},       {"threads", threads},
      {"polling", polling}, {"columns", columns},     {"init_all", init_all},
      {"absent", absent},   {"facing", facing},       {"duplicate", duplicate},
      {"failing", failing}, {"giving_up", giving_up}, {"same_device", same_device}};
  const auto part = words > 2 ? parts.find(word[1]) : parts.end();
  if (part == parts.end() || std::atoi(word[2]) < 1) return 2;
  devices = std::atoi(word[2]);
  part->second();
  return 0;
}
