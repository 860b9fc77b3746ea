"""Objects of different sizes through every object collective."""
import torch.distributed as dist

import expect

rank, world = expect.start()
own = {"rank": rank, "list": list(range(rank * 10)), "text": "x" * rank}
found = [None] * world
dist.all_gather_object(found, own)
expect.same("all_gather_object", [len(one["list"]) for one in found], [other * 10 for other in range(world)])
root = world - 1
said = [own, "second"] if rank == root else [None, None]
dist.broadcast_object_list(said, src=root)
expect.same("broadcast_object_list", (said[0]["rank"], said[1]), (root, "second"))
if dist.get_backend() != "nccl":
    found = [None] * world if rank == root else None
    dist.gather_object(own, found, dst=root)
    if rank == root:
        expect.same("gather_object", [one["rank"] for one in found], list(range(world)))
    found = [None]
    dist.scatter_object_list(found, [(other, "y" * other) for other in range(world)] if rank == 0 else [None] * world)
    expect.same("scatter_object_list", found[0], (rank, "y" * rank))
expect.finish()
