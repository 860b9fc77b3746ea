"""What is broken in Debian 12's torch 1.13 on Python 3.11, with or without Troupe."""


def mend_std(api):
    """torchrun: Std.from_str gives None for 0 and 3, since a flag of 3.11 iterates over its single bits only."""
    original = api.Std.from_str
    if original("0") is not None:
        return

    def from_str(text):
        original(text)  # refuses what is malformed
        if ":" not in text:
            return api.Std(int(text))
        return {int(rank): api.Std(int(std)) for rank, std in (pair.split(":") for pair in text.split(","))}

    api.Std.from_str = staticmethod(from_str)


PATCHES = [("torch.distributed.elastic.multiprocessing.api", mend_std)]

# Python 3.11 refuses a dataclass default that cannot be hashed; torch.distributed.fsdp imports this module.
SOURCES = [(
    "torch.distributed._shard.sharded_tensor.metadata",
    [("field(default=TensorProperties())", "field(default_factory=TensorProperties)")],
)]
