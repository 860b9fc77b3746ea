// mpi: processes that mpirun starts, each with two devices, as nccl-tests has them: MPI hands the
// unique id around and has them wait for each other.
#include <mpi.h>

#include "tests/programs/cuda/nccl.hpp"

int main(int words, char** word) {
  CHECK(MPI_Init(&words, &word) == MPI_SUCCESS);
  int process = 0, processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  constexpr int devices = 2;
  constexpr std::size_t count = 1000;
  ncclUniqueId id;
  if (process == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  const int size = processes * devices;
  member all[devices];
  NCCL(ncclGroupStart());
  for (int n = 0; n < devices; ++n) {
    all[n].rank = process * devices + n;
    CUDA(cudaSetDevice(all[n].rank));
    NCCL(ncclCommInitRank(&all[n].comm, size, id, all[n].rank));
  }
  NCCL(ncclGroupEnd());
  float* at[devices];
  for (int n = 0; n < devices; ++n) {
    CUDA(cudaSetDevice(all[n].rank));
    CUDA(cudaStreamCreateWithFlags(&all[n].stream, cudaStreamNonBlocking));
    at[n] = to_device(std::vector<float>(count, 1));
  }
  for (int round = 0; round < 20; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    NCCL(ncclGroupStart());
    for (int n = 0; n < devices; ++n)
      NCCL(ncclAllReduce(at[n], at[n], count, ncclFloat, ncclMax, all[n].comm, all[n].stream));
    NCCL(ncclGroupEnd());
    for (const auto& one : all) CUDA(cudaStreamSynchronize(one.stream));
    double mine = process, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == processes * (processes - 1) / 2);
  }
  for (int n = 0; n < devices; ++n) {
    NCCL(ncclAllReduce(at[n], at[n], count, ncclFloat, ncclSum, all[n].comm, all[n].stream));
  }
  for (int n = 0; n < devices; ++n) {
    CUDA(cudaSetDevice(all[n].rank));
    CHECK(from_device(at[n], count, all[n].stream)
          == std::vector<float>(count, static_cast<float>(size)));
    NCCL(ncclCommDestroy(all[n].comm));
  }
  MPI_Finalize();
  return 0;
}
