"""What is broken in Debian 12's torch 1.13 on Python 3.11, with or without Troupe."""


def mend_std(api):
    """torchrun: Std.from_str("0") gives None, since an IntFlag of 3.11 does not iterate over its zero."""
    if api.Std.from_str("0") is not None:
        return
    original = api.Std.from_str

    def from_str(text):
        found = original(text)
        if isinstance(found, dict):
            return {rank: api.Std.NONE if std is None else std for rank, std in found.items()}
        return api.Std.NONE if found is None else found

    api.Std.from_str = staticmethod(from_str)


PATCHES = [("torch.distributed.elastic.multiprocessing.api", mend_std)]

# Python 3.11 refuses a dataclass default that cannot be hashed; torch.distributed.fsdp imports this module.
SOURCES = [(
    "torch.distributed._shard.sharded_tensor.metadata",
    [("field(default=TensorProperties())", "field(default_factory=TensorProperties)")],
)]
