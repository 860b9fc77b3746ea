"""The store's whole interface, as TCPStore has it: every rank sees what another left, waits end, timeouts name the key."""
from datetime import timedelta

import torch.distributed as dist

import expect

rank, world = expect.start()
store = dist.PrefixStore("here", dist.distributed_c10d._get_default_store())
everyone = range(world)


def late(call, *words):
    """call() times out, as torch's own kind of error where there is one."""
    kind = getattr(dist, "DistStoreError", RuntimeError)
    try:
        call()
    except kind as why:
        for word in words:
            expect.same(f"{word!r} in {why}", word in str(why), True)
        return
    expect.fail("a wait for nothing ended well")


store.set(f"set {rank}", f"value {rank}")
for other in everyone:
    expect.same("get", store.get(f"set {other}"), f"value {other}".encode())
expect.same("empty", (store.set(f"empty {rank}", ""), store.get(f"empty {rank}"))[1], b"")
store.add("sum", rank + 1)
store.set(f"added {rank}", "")
store.wait([f"added {other}" for other in everyone], timedelta(seconds=60))
expect.same("add", store.add("sum", 0), sum(one + 1 for one in everyone))
if hasattr(store, "check"):
    expect.same("check", store.check([f"set {other}" for other in everyone]), True)
    expect.same("check of what is not there", store.check(["set 0", "never"]), False)

# One of all wins; who comes later sees who did.
winner = store.compare_set("won", "", str(rank))
expect.same("the winner is one", winner, store.get("won"))
expect.same("compare_set against another value", store.compare_set("won", "nobody", "me"), winner)
expect.same("compare_set of an absent key", store.compare_set(f"absent {rank}", "something", "me"), b"something")

mine = f"mine {rank}"
store.set(mine, "x")
expect.same("delete", (store.delete_key(mine), store.delete_key(mine)), (True, False))
if not expect.NATIVE:  # a store of its own counts its own keys
    own = dist.TCPStore("127.0.0.1", 1 + rank, 1, True)
    for number in range(3):
        own.set(f"key {number}", "")
    own.delete_key("key 0")
    expect.same("num_keys", own.num_keys(), 3)  # torch's own is counted, and not listed
    if hasattr(own, "list_keys"):
        expect.same("list_keys", sorted(own.list_keys()), ["key 1", "key 2"])

store.set_timeout(timedelta(milliseconds=50))
late(lambda: store.get("never come"), "never come")
store.set_timeout(timedelta(seconds=60))
expect.same("timeout", store.timeout, timedelta(seconds=60))
late(lambda: store.wait(["never come"], timedelta(milliseconds=50)), "never come")

if expect.TORCH >= (2, 0):
    expect.same("extended", store.has_extended_api(), True)
    store.append(f"list {rank}", "a")
    store.append(f"list {rank}", "bc")
    expect.same("append", store.get(f"list {rank}"), b"abc")
    store.multi_set([f"one {rank}", f"two {rank}"], ["1", "2"])
    names = [f"{name} {other}" for other in everyone for name in ("one", "two")]
    expect.same("multi_get", store.multi_get(names), [b"1", b"2"] * world)
if hasattr(store, "clone"):
    expect.same("clone", store.clone().get("won"), winner)

if hasattr(store, "list_keys"):
    mine = dist.PrefixStore(f"mine {rank}", store)
    for number in range(3):
        mine.set(f"key {number}", "")
    expect.same("list_keys below a prefix", sorted(mine.list_keys()), ["key 0", "key 1", "key 2"])

if hasattr(store, "queue_push"):
    mine = dist.PrefixStore(f"queues of {rank}", store)
    for element in ("one", "", "three"):
        mine.queue_push("queue", element)
    mine.set("queue", "a key of that name")
    expect.same("a queue is no key", mine.list_keys(), ["queue"])
    expect.same("three elements", (mine.queue_len("queue"), mine.queue_len("another")), (3, 0))
    mine.delete_key("queue")
    expect.same("check of a queue", mine.check(["queue"]), True)
    mine.wait(["queue"])
    expect.same("in order", [mine.queue_pop("queue", block) for block in (True, False, True)], [b"one", b"", b"three"])
    expect.same("an empty queue is not there", mine.check(["queue"]), False)
    if rank == 0:
        for number in everyone:
            store.queue_push("queue", f"element {number}")
    taken = store.queue_pop("queue")
    store.set(f"taken {rank}", taken)
    store.wait([f"taken {other}" for other in everyone], timedelta(seconds=60))
    expect.same("each element once", sorted(store.get(f"taken {other}") for other in everyone),
                sorted(f"element {number}".encode() for number in everyone))
    expect.same("queue_len", store.queue_len("queue"), 0)
    expect.refused("an empty queue", lambda: store.queue_pop("queue", False), "queue")
    store.set_timeout(timedelta(milliseconds=50))
    late(lambda: store.queue_pop("queue"), "queue")
    store.set_timeout(timedelta(seconds=60))
    dist.barrier()
    if rank == 0:  # what gave up takes nothing of what comes later
        store.queue_push("queue", "late")
        expect.same("after those that gave up", store.queue_pop("queue"), b"late")
expect.finish()
