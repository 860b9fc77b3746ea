// lazy: programs of two ranks that block, or do not, by what is queued in which order. One part an
// argument; each checks what it got. Whether it comes to that is the test's to say.
#include <map>
#include <string>

#include "tests/programs/cuda/nccl.hpp"

namespace {

constexpr std::size_t count = 1000;

struct pair {
  member me = join_world();
  int peer = 1 - me.rank;
  cudaStream_t first = nullptr, second = nullptr;
  float *given = to_device(std::vector<float>(count, static_cast<float>(me.rank))),
        *got = to_device(std::vector<float>(count, -1));
  pair() {
    for (auto* stream : {&first, &second})
      CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  }
  void send(cudaStream_t on) { NCCL(ncclSend(given, count, ncclFloat, peer, me.comm, on)); }
  void receive(cudaStream_t on) { NCCL(ncclRecv(got, count, ncclFloat, peer, me.comm, on)); }
  void end() {
    CUDA(cudaDeviceSynchronize());
    CHECK(from_device(got, count, first) == std::vector<float>(count, static_cast<float>(peer)));
  }
};

void two_streams() {
  pair p;
  p.receive(p.first);
  p.send(p.second);
  p.end();
}
void event_chain() {
  pair p;
  cudaEvent_t queued = nullptr;
  CUDA(cudaEventCreate(&queued));
  p.receive(p.first);
  p.send(p.second);
  CUDA(cudaEventRecord(queued, p.second));
  CUDA(cudaStreamWaitEvent(p.first, queued, 0));
  p.end();
}
void grouped() {
  pair p;
  NCCL(ncclGroupStart());
  p.receive(p.first);
  p.send(p.first);
  NCCL(ncclGroupEnd());
  p.end();
}
void many_queued() {
  pair p;
  auto* at = to_device(std::vector<double>(10, 1));
  for (int n = 0; n < 100; ++n)
    NCCL(ncclAllReduce(at, at, 10, ncclDouble, ncclSum, p.me.comm, p.first));
  CUDA(cudaStreamSynchronize(p.first));
  CHECK(from_device(at, 1, p.first)[0] == 0x1p100);
}
/// The first on the legacy default stream, of which the second's is kept out.
void legacy() {
  pair p;
  p.receive(nullptr);
  p.send(p.second);
  p.end();
}
void one_stream() {
  pair p;
  p.receive(p.first);
  p.send(p.first);
  p.end();
}
/// Rank 0 has its recv queued when it says to rank 1, by a file, that it may send.
void host_message() {
  pair p;
  const auto folder = std::getenv("TMPDIR");
  const auto path =
      std::string(folder ? folder : "/tmp") + "/troupe-nccl-go-" + std::to_string(::getppid());
  if (p.me.rank == 0) {
    p.receive(p.first);
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
    p.send(p.first);
  } else {
    while (::access(path.c_str(), F_OK) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ::unlink(path.c_str());
    p.send(p.first);
    p.receive(p.first);
  }
  p.end();
}
void crossed() {
  pair p;
  if (p.me.rank == 0) {
    p.receive(p.first);
    p.send(p.first);
  } else {
    p.send(p.first);
    p.receive(p.first);
  }
  p.end();
}

}  // namespace

int main(int words, char** word) {
  const std::map<std::string, void (*)()> parts = {
      {"two_streams", two_streams},   {"event_chain", event_chain}, {"grouped", grouped},
      {"many_queued", many_queued},   {"legacy", legacy},           {"one_stream", one_stream},
      {"host_message", host_message}, {"crossed", crossed}};
  const auto part = words > 1 ? parts.find(word[1]) : parts.end();
  if (part == parts.end()) return 2;
  part->second();
  return 0;
}
