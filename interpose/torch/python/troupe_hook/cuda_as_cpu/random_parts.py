"""What DTensors draw: replicas the same, shards each their own, and every rank's generator as far as the others' afterwards.

On CUDA torch sees to this with the offset of a counting generator; the CPU's has none, and torch leaves each rank to its
own there. Here a shard's numbers come from a seed that the common generator gives, and its place. For meshes that the
program made for cuda. What is wholly replicated is drawn as one process would.
"""
import contextlib

from . import parallel


def draw_by_parts(random):
    import torch
    import torch.distributed as dist

    class Tracker(random._RNGStateTracker):
        def __init__(self, _mesh=None, run_state_sync=True, **_newer):
            self._device, self._device_handle = torch.device("cpu"), torch.cpu
            self._use_distribute_region, self.rng_states = True, {}
            if run_state_sync:
                state = torch.get_rng_state()
                dist.broadcast(state, 0)
                torch.set_rng_state(state)

        @contextlib.contextmanager
        def _distribute_region(self, spec, generator=None):
            default, common = torch.default_generator, generator or torch.default_generator
            place = _shard_of(spec)
            if not self.distribute_region_enabled or generator is None and place is None:
                yield
                return
            before = default.get_state()
            if place is None:  # torch took the program's generator out of the call
                default.set_state(generator.get_state())
            else:
                seed = torch.randint(1 << 32, (), generator=common).item()
                after = common.get_state()
                default.manual_seed((seed + place * 0x9E3779B1) % (1 << 32))  # as much of it as counts
            try:
                yield
            finally:
                if place is None:
                    after = default.get_state()
                default.set_state(before)
                common.set_state(after)

        def _manual_seed(self, parallel_seed):
            torch.manual_seed(parallel_seed)

    supported, original = random.is_rng_supported_mesh, random.OffsetBasedRNGTracker
    random.is_rng_supported_mesh = lambda mesh: parallel.meshes_on_cuda() or supported(mesh)
    random.OffsetBasedRNGTracker = lambda *arguments, **named: (
        Tracker if parallel.meshes_on_cuda() else original)(*arguments, **named)


def _shard_of(spec):
    """Its number in the mesh; None where the tensor is whole."""
    number, split = 0, False
    for size, coordinate, placement in zip(spec.mesh.shape, spec.mesh.get_coordinate(), spec.placements):
        if not (placement.is_replicate() or placement.is_partial()):
            number, split = number * size + coordinate, True
    return number if split else None


PATCHES = [("torch.distributed.tensor._random", draw_by_parts)]
