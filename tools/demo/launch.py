"""launch: runs a Python program as N plain processes, the way torchrun does.

    python3 tools/demo/launch.py N PROGRAM.py ARGS...

Stands in for torchrun, which Debian's torch 1.13 breaks on Python 3.11. The ranks are forked once torch is imported, so
that sixteen of them do not pay for sixteen imports. Only rank 0 prints. Ends with 0 when every rank did.
"""
import gc
import os
import runpy
import signal
import socket
import sys


def become_rank(rank, world, port, program):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    if rank != 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = program
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    runpy.run_path(program[0], run_name="__main__")


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    world, program = int(sys.argv[1]), sys.argv[2:]
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch.distributed  # noqa: F401  what every rank would import
    import torch.nn.parallel  # noqa: F401
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    gc.freeze()
    ranks = {}
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            become_rank(rank, world, port, program)
            return 0
        ranks[pid] = rank
    while ranks:
        pid, status = os.wait()
        rank = ranks.pop(pid)
        if status != 0:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            for _ in ranks:
                os.wait()
            sys.exit(f"rank {rank} ended with {os.waitstatus_to_exitcode(status)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
