"""What is asked of cuda is answered on the CPU, and what cannot be says so by its name."""
import copy
import io
import os
import warnings

import expect
import torch
import torch.distributed as dist

from expect import refused, same

rank, world = expect.start()
here = f"cuda:{os.environ['LOCAL_RANK']}"


def devices():
    same("is_available", torch.cuda.is_available(), True)
    same("device_count", torch.cuda.device_count(), int(os.environ["LOCAL_WORLD_SIZE"]))
    torch.cuda.set_device(here)
    same("current_device", torch.cuda.current_device(), int(os.environ["LOCAL_RANK"]))
    with torch.cuda.device(0):
        same("current_device within", torch.cuda.current_device(), 0)
    same("current_device after", torch.cuda.current_device(), int(os.environ["LOCAL_RANK"]))
    refused("a GPU that is not there", lambda: torch.cuda.set_device(torch.cuda.device_count()), "invalid device ordinal")
    refused("a tensor there", lambda: torch.ones(2, device=f"cuda:{torch.cuda.device_count()}"), "invalid device ordinal")
    ranks_of_host = os.environ["LOCAL_WORLD_SIZE"]
    os.environ["LOCAL_WORLD_SIZE"] = "200"
    same("a device that torch counts below 0", torch.ones(2, device=torch.device("cuda", 131)).sum().item(), 2.0)
    torch.cuda.set_device(torch.device("cuda", 131))
    same("its number", torch.cuda.current_device(), 131)
    refused("one beyond 200", lambda: torch.cuda.set_device(torch.device("cuda", 201)), "invalid device ordinal")
    os.environ["LOCAL_WORLD_SIZE"] = ranks_of_host
    torch.cuda.set_device(here)
    same("bf16", torch.cuda.is_bf16_supported(), True)
    same("capability", torch.cuda.get_device_capability(here), (8, 0))
    properties = torch.cuda.get_device_properties(here)
    same("name", torch.cuda.get_device_name(), properties.name)
    free, total = torch.cuda.mem_get_info()
    same("memory", 0 < free <= total == properties.total_memory, True)
    before = torch.cuda.memory_allocated()
    kept = torch.ones(1000, device="cuda")
    same("allocated", torch.cuda.memory_allocated() - before, kept.numel() * 4)
    same("at most", torch.cuda.max_memory_allocated() >= before + 4000, True)
    same("reserved", torch.cuda.memory_reserved(), torch.cuda.memory_allocated())
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()
    torch.cuda.synchronize(here)
    torch.ones(1 << 20)
    torch.cuda.reset_peak_memory_stats()
    same("at most from now on", torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated())
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    same("hidden", (torch.cuda.is_available(), torch.cuda.device_count()), (False, 0))
    del os.environ["CUDA_VISIBLE_DEVICES"]


def tensors():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    same("device", (device.type, device.index), ("cuda", int(os.environ["LOCAL_RANK"])))
    for made in (torch.ones(3, device=here), torch.ones(3, device=device), torch.ones(3, device=0), torch.ones(3).cuda(),
                 torch.ones(3).to(here), torch.ones(3).to(device=device), torch.ones(3, dtype=torch.int64).to(device, torch.float),
                 torch.ones_like(torch.zeros(3), device="cuda"), torch.zeros(1, device="cuda").new_ones(3, device=device),
                 torch.as_tensor([1.0, 1.0, 1.0], torch.float, device), torch.tensor([1.0, 1, 1], device="cuda"),
                 torch.ones(3).type("torch.cuda.FloatTensor"), torch.cuda.FloatTensor([1, 1, 1]),
                 torch.full((3,), 1.0, device=device, pin_memory=False), torch.ones(3).pin_memory(),
                 torch.ones(3, pin_memory=True), torch.ones(3).to(0, torch.float, True, False)):
        same("made", made, torch.ones(3))
    same("numbers", torch.arange(3, device="cuda"), torch.arange(3))
    model = torch.nn.Linear(2, 2, device="cuda").to(device).cuda(0)
    same("a layer", model(torch.ones(1, 2, device="cuda")).shape, (1, 2))
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).cuda()
    same("a packed sequence", packed.data, torch.ones(2))
    first = torch.zeros(2)
    for name, moved in (("cuda", first.cuda()), ("to", first.to(here)), ("cpu", first.cpu()), ("to cpu", first.to("cpu")),
                        ("pin", first.pin_memory())):
        moved.add_(1)
        same(f"what was moved by {name}", first, torch.zeros(2))
    same("no move", first.to(torch.float) is first, True)
    leaf = torch.ones(2, requires_grad=True)
    (leaf.cuda() * 3).sum().backward()
    same("a gradient over a move", leaf.grad, torch.full((2,), 3.0))
    leaf.grad.record_stream(torch.cuda.current_stream())


def overrides():
    """What subclasses and modes are told of is what programs name."""
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    watched = torch.ones(3).as_subclass(Watched)
    for what, function, call in (
            ("to", torch.Tensor.to, lambda: watched.to(here)), ("cuda", torch.Tensor.cuda, watched.cuda),
            ("cpu", torch.Tensor.cpu, watched.cpu), ("zeros_like", torch.zeros_like, lambda: torch.zeros_like(watched, device=here)),
            ("new_ones", torch.Tensor.new_ones, lambda: watched.new_ones(3, device=here))):
        seen.clear()
        same(f"{what} of a subclass", type(call()), Watched)
        same(f"{what} is told of", function in seen, True)


def randomness():
    torch.cuda.manual_seed_all(5)
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    same("drawn again", torch.rand(3, device="cuda"), first)
    torch.manual_seed(5)
    same("of the same seed", torch.rand(3, device="cuda"), first)
    generator = torch.Generator(device="cuda").manual_seed(5)
    same("of a generator", torch.rand(3, device="cuda", generator=generator), first)
    same("it is one", isinstance(generator, torch.Generator), True)
    same("its device", generator.device, torch.device("cpu"))
    with torch.random.fork_rng(devices=[0]):
        torch.rand(1)
    torch.manual_seed(torch.initial_seed())


def storing():
    file = io.BytesIO()
    torch.save({"weights": torch.arange(4.0)}, file)
    for where in (here, torch.device(here), {"cpu": here}, "cpu", None, lambda storage, _: storage.cuda(0)):
        file.seek(0)
        same(f"loaded to {where}", torch.load(file, map_location=where)["weights"], torch.arange(4.0))
    # As a GPU run saves: only the place that the storages name differs.
    pickled = io.BytesIO()
    torch.save(torch.arange(4.0), pickled, _use_new_zipfile_serialization=False)
    renamed = pickled.getvalue().replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    same("renamed", renamed != pickled.getvalue(), True)
    same("saved on a GPU", torch.load(io.BytesIO(renamed)), torch.arange(4.0))
    too_far = renamed.replace(b"cuda:0", b"cuda:9")
    refused("saved on a GPU that is not there", lambda: torch.load(io.BytesIO(too_far)), "cuda:9")


def streams():
    with torch.cuda.stream(torch.cuda.Stream()) as stream:
        same("current stream", torch.cuda.current_stream(), stream)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        (torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")).sum()
        end.record()
        end.synchronize()
        torch.cuda.default_stream().wait_stream(stream)
    same("current stream after", torch.cuda.current_stream(), torch.cuda.default_stream())
    same("time passes", start.elapsed_time(end) > 0 and end.query(), True)
    same("and back", start.elapsed_time(end), -end.elapsed_time(start))
    refused("untimed events", lambda: torch.cuda.Event().elapsed_time(end), "enable_timing")
    if expect.TORCH >= (2, 4):
        streams_of_any_device()


def streams_of_any_device():
    """torch.Stream and torch.Event: on the GPU unless the program says otherwise."""
    for stream in (torch.Stream(), torch.Stream("cuda"), torch.Stream(device=here, priority=-1), torch.Stream(torch.device("cuda"))):
        same("a stream's device", stream.device.type, "cuda")
        same("a stream is one", isinstance(stream, (torch.Stream, torch.cuda.Stream)) and stream.query(), True)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            same("current stream", torch.cuda.current_stream() is stream, True)
    events = [torch.Event(enable_timing=True), torch.Event("cuda", enable_timing=True)]
    for event in events:
        same("an event is one", isinstance(event, torch.Event), True)
        event.record()
        torch.Stream().wait_event(event)
    same("time between them", events[0].elapsed_time(events[1]) > 0, True)
    same("a stream of the CPU", torch.Stream("cpu").device.type, "cpu")
    same("an event of the CPU", torch.Event("cpu").device.type, "cpu")
    refused("a stream on a GPU that is not there", lambda: torch.Stream("cuda:9"), "invalid device ordinal")


def default_devices():
    """From torch 2 on: what is made without a device goes where the program says."""
    if expect.TORCH < (2, 0):
        return
    makers = [lambda: torch.empty(2), lambda: torch.zeros(2), lambda: torch.arange(2), lambda: torch.tensor([1, 2]),
              lambda: torch.as_tensor([1, 2]), lambda: torch.rand(2), lambda: torch.full((2,), 1.0), lambda: torch.eye(2),
              lambda: torch.fft.fftfreq(2), lambda: torch.nn.Linear(2, 2).weight, lambda: torch.empty_like(torch.ones(2))]
    for number, make in enumerate(makers):
        with torch.device("meta"):
            same(f"maker {number} on meta", make().device.type, "meta")
        for device in ("cuda", here, torch.device(here), "cpu"):
            with torch.device(device):
                same(f"maker {number} on {device}", make().device.type, "cpu")
        torch.set_default_device("meta")
        same(f"maker {number} on meta by default", make().device.type, "meta")
        torch.set_default_device("cuda")
        same(f"maker {number} on cuda by default", make().device.type, "cpu")
        torch.set_default_device(None)
    with torch.device("meta"):
        same("a device of its own", torch.zeros(2, device="cuda").device.type, "cpu")
        model = torch.nn.Linear(2, 2)
    same("made real", model.to_empty(device="cuda").weight.device.type, "cpu")
    if world < 9:
        refused("a default device that is not there", lambda: torch.set_default_device("cuda:9"), "invalid device ordinal")


def accelerator():
    """The same as torch.cuda, from torch 2.6 on."""
    if expect.TORCH < (2, 6):
        return
    same("accelerator", torch.accelerator.current_accelerator(), torch.device("cuda"))
    same("its module", torch.get_device_module(), torch.cuda)
    same("is_available", torch.accelerator.is_available(), True)
    same("count", torch.accelerator.device_count(), torch.cuda.device_count())
    torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
    same("index", torch.accelerator.current_device_index(), int(os.environ["LOCAL_RANK"]))
    same("stream", torch.accelerator.current_stream(), torch.cuda.current_stream())
    torch.accelerator.synchronize()
    if hasattr(torch.accelerator, "get_device_capability"):
        same("types", torch.bfloat16 in torch.accelerator.get_device_capability()["supported_dtypes"], True)
    if hasattr(torch.accelerator, "memory"):
        same("memory", torch.accelerator.memory.memory_allocated(), torch.cuda.memory_allocated())
        torch.accelerator.memory.empty_cache()
    if hasattr(torch.accelerator, "Graph"):
        refused("Graph", torch.accelerator.Graph, "torch.accelerator.Graph")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    same("hidden", torch.accelerator.current_accelerator(check_available=True), None)
    same("built with", torch.accelerator.current_accelerator(), torch.device("cuda"))
    del os.environ["CUDA_VISIBLE_DEVICES"]


def mixed_precision():
    matrix = torch.randn(4, 4, device="cuda")
    for context in (torch.autocast("cuda"), torch.autocast("cuda", torch.float16), torch.autocast("cuda", dtype=torch.bfloat16),
                    torch.cuda.amp.autocast(), torch.autocast(device_type="cuda", dtype=torch.float16)):
        with context:
            same("autocast", (matrix @ matrix).dtype, torch.bfloat16)
            same("autocast is on", torch.is_autocast_enabled(), True)
            same("its type", torch.get_autocast_gpu_dtype(), torch.bfloat16)
            with torch.cuda.amp.autocast(enabled=False):
                same("autocast within", (matrix @ matrix).dtype, torch.float32)
    with torch.autocast("cuda", enabled=False):
        same("no autocast", (matrix @ matrix).dtype, torch.float32)
    scaler = torch.cuda.amp.GradScaler()
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale((weight * 2).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    same("a step with a scaler", weight.data, torch.full((2,), -1.0))
    same("the scaler", scaler.is_enabled(), False)


def settings():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = True, True
    model = torch.nn.Linear(2, 2)
    same("compiled", torch.compile(model, mode="max-autotune")(torch.ones(1, 2)), model(torch.ones(1, 2)))
    same("compiled function", torch.compile(lambda: 3)(), 3)

    @torch.compile(dynamic=False)
    def decorated():
        return 4

    same("decorated function", decorated(), 4)
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([parameter], lr=0.5, fused=True)
    parameter.sum().backward()
    optimizer.step()
    same("a fused step", torch.allclose(parameter.data, torch.full((2,), 0.5)), True)
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    for workers in (0, 1):
        loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=workers)
        same("loaded", torch.cat([batch.cuda(non_blocking=True) for batch, in loader]), torch.arange(8.0))

    @torch.jit.script
    def scripted(size: int):
        return torch.zeros(size) + 1

    same("scripted", scripted(3), torch.ones(3))


def refusals():
    refused("CUDAGraph", torch.cuda.CUDAGraph, "torch.cuda.CUDAGraph", "cannot be mapped")
    refused("cudart", torch.cuda.cudart, "torch.cuda.cudart")
    refused("an unmapped call", lambda: torch._C._VariableFunctions.zeros(2, device="cuda"), "cuda_as_cpu.py:",
            "_VariableFunctions.zeros")
    if world > 1:
        refused("DataParallel", lambda: torch.nn.DataParallel(torch.nn.Linear(1, 1)), "torch.nn.DataParallel")


def communication():
    value = torch.full((2,), float(rank + 1), device=here)
    dist.all_reduce(value)
    same("all_reduce", value, torch.full((2,), world * (world + 1) / 2))
    dist.barrier(device_ids=[int(os.environ["LOCAL_RANK"])])
    found = [None] * world
    dist.all_gather_object(found, {"rank": rank})
    same("objects", found, [{"rank": other} for other in range(world)])


def data_parallel():
    from torch.nn.parallel import DistributedDataParallel
    torch.manual_seed(1)
    plain = torch.nn.Linear(3, 1)
    model = DistributedDataParallel(copy.deepcopy(plain).to(here), device_ids=[int(os.environ["LOCAL_RANK"])],
                                    output_device=int(os.environ["LOCAL_RANK"]))
    inputs = torch.randn(world, 3)
    model(inputs[rank:rank + 1].to(here)).sum().backward()
    plain(inputs).sum().div(world).backward()
    same("DDP", torch.allclose(model.module.weight.grad, plain.weight.grad), True)
    try:
        DistributedDataParallel(plain, device_ids=[0, 0])
        expect.fail("DDP of one module on two GPUs is not refused")
    except ValueError:
        pass


def sharded_data_parallel():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.distributed.fsdp import FullyShardedDataParallel
    torch.manual_seed(2)
    plain = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    wrapped = copy.deepcopy(plain)
    if rank > 0:
        for parameter in wrapped.parameters():
            parameter.data.zero_()
    model = FullyShardedDataParallel(wrapped, device_id=torch.cuda.current_device(), sync_module_states=True)
    inputs = torch.randn(world, 3)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, plain)]
    for _ in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad()
        model(inputs[rank:rank + 1].to(here)).sum().backward()
        plain(inputs).sum().div(world).backward()
        for optimizer in optimizers:
            optimizer.step()
    same("FSDP", torch.allclose(model(inputs), plain(inputs), atol=1e-5), True)


for check in (devices, tensors, overrides, randomness, storing, streams, default_devices, accelerator, mixed_precision, settings, refusals, communication,
              data_parallel, sharded_data_parallel):
    check()
expect.finish()
