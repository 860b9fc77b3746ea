"""A program whose ranks somebody else starts, or which starts them itself; each sums, and one may come to grief.

    launched.py [sum|raise|segfault]                            each process a rank, as torchrun and mpirun start them
    launched.py [sum|raise|segfault] spawn|fork|rendezvous N    starts N processes itself
"""
import os
import signal
import sys

import torch
import torch.distributed as dist

DEED = sys.argv[1] if len(sys.argv) > 1 else "sum"


def work(rank=None, world=None, meeting=None):
    if meeting:
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    elif "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]),
                                world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))
    rank, world = dist.get_rank(), dist.get_world_size()
    value = torch.full((4,), rank + 1.0)
    dist.all_reduce(value)
    if value.tolist() != [world * (world + 1) / 2] * 4:
        sys.exit(f"WRONG sum {value}")
    print(f"rank {rank} of {world} has the sum", flush=True)
    if rank == 1 and DEED == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if rank == 1 and DEED == "raise":
        raise ValueError("rank 1 raises")
    dist.barrier()
    dist.destroy_process_group()


def numbered(rank, world):
    """As launched by hand: variables set by the program, in the process."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT="29501")
    work()


def main():
    if len(sys.argv) < 4:
        return work()
    how, world = sys.argv[2], int(sys.argv[3])
    if how == "rendezvous":
        processes = [torch.multiprocessing.get_context("spawn").Process(target=work, args=(
            rank, world, "tcp://127.0.0.1:29502")) for rank in range(world)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        sys.exit(max(abs(process.exitcode) for process in processes))
    torch.multiprocessing.start_processes(numbered, args=(world,), nprocs=world, start_method=how)
    print("all have ended", flush=True)


if __name__ == "__main__":
    main()
