// nccl: what programs with NCCL share here: ranks that are processes of a run, and meet in a file
// system as strangers do: the unique id goes through a file.
#pragma once

#include <fcntl.h>
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/programs/cuda/check.hpp"

#define NCCL(call)                                                           \
  do {                                                                       \
    const ncclResult_t status_ = (call);                                     \
    if (status_ != ncclSuccess) {                                            \
      std::fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, \
                   ncclGetErrorString(status_), ncclGetLastError(nullptr));  \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

#define NCCL_ANSWERS(call, wanted)                                                        \
  do {                                                                                    \
    const ncclResult_t status_ = (call);                                                  \
    if (status_ != (wanted)) {                                                            \
      std::fprintf(stderr, "%s:%d: %s: %d, not %s\n", __FILE__, __LINE__, #call, status_, \
                   #wanted);                                                              \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

inline int number_in(const char* name) {
  const char* text = std::getenv(name);
  CHECK(text);
  return std::atoi(text);
}
inline int my_rank() { return number_in("RANK"); }
inline int world_size() { return number_in("WORLD_SIZE"); }

inline std::vector<std::string>& shared_files() {
  static std::vector<std::string> files;
  return files;
}
/// Once all have read them: a rank that is killed removes nothing.
inline void remove_shared_files() {
  for (const auto& file : shared_files()) ::unlink(file.c_str());
  shared_files().clear();
}

/// Rank 0's, told to the others by a file that is named for the run.
inline ncclUniqueId shared_id(const std::string& what = "id") {
  const char* port = std::getenv("MASTER_PORT");
  const char* folder = std::getenv("TMPDIR");
  const auto path = std::string(folder ? folder : "/tmp") + "/troupe-nccl-" + (port ? port : "")
                    + "-" + std::to_string(::getppid()) + what;
  ncclUniqueId id;
  if (my_rank() == 0) {
    NCCL(ncclGetUniqueId(&id));
    const int file = ::open((path + ".part").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(file >= 0 && ::write(file, &id, sizeof id) == sizeof id);
    ::close(file);
    CHECK(std::rename((path + ".part").c_str(), path.c_str()) == 0);
  } else {
    int file = -1;
    while ((file = ::open(path.c_str(), O_RDONLY)) < 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(::read(file, &id, sizeof id) == sizeof id);
    ::close(file);
  }
  if (my_rank() == 0) shared_files().push_back(path);
  return id;
}

struct member {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  int rank, size;
};

/// A communicator of all ranks, on the device of each.
inline member join_world() {
  member me{nullptr, nullptr, my_rank(), world_size()};
  CUDA(cudaSetDevice(number_in("LOCAL_RANK")));
  NCCL(ncclCommInitRank(&me.comm, me.size, shared_id(), me.rank));
  remove_shared_files();
  CUDA(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking));
  return me;
}

template <class T>
T* to_device(const std::vector<T>& values) {
  void* at = nullptr;
  CUDA(cudaMalloc(&at, values.size() * sizeof(T)));
  CUDA(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return static_cast<T*>(at);
}

template <class T>
std::vector<T> from_device(const T* at, std::size_t count, cudaStream_t stream) {
  std::vector<T> values(count);
  CUDA(cudaMemcpyAsync(values.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  return values;
}
