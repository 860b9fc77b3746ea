"""SyncBatchNorm: batch normalization over the ranks of a group, which torch has on GPUs only.

torch's own function gathers, reduces and saves what the backward pass needs; what it lacks on the CPU are five operators,
given here, after their definitions in torch (means and variances over all but the second dimension; halves in f32). The
layer and DDP, which insist on a GPU, take tensors on the CPU. Without a group of several ranks it is plain batch norm.
"""


def give_operators(torch):
    """Sums are f64 where they become one number for all ranks, as wide as the values else."""
    library = torch.library.Library("aten", "IMPL")

    def wide(tensor):
        return tensor.float() if tensor.element_size() < 4 else tensor

    def others(tensor):
        return [dim for dim in range(tensor.dim()) if dim != 1]

    def by_channel(vector, like):
        return vector.reshape([-1 if dim == 1 else 1 for dim in range(like.dim())])

    def stats(input, eps):
        variance, mean = torch.var_mean(wide(input), others(input), unbiased=False)
        return mean, (variance + eps).rsqrt()

    def gather(_input, mean, invstd, running_mean, running_var, momentum, eps, counts):
        weights = counts.double().unsqueeze(1)
        total, means = weights.sum(), mean.double()
        whole = (means * weights).sum(0) / total
        squares = ((invstd.double() ** -2 - eps + (means - whole) ** 2) * weights).sum(0)
        if running_mean is not None:
            running_mean.lerp_(whole.to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
        return whole.to(mean.dtype), (squares / total + eps).rsqrt().to(invstd.dtype)

    def apply(input, weight, bias, mean, invstd, _eps):
        scaled = (wide(input) - by_channel(mean, input)) * by_channel(invstd, input)
        if weight is not None:
            scaled = scaled * by_channel(weight, input)
        if bias is not None:
            scaled = scaled + by_channel(bias, input)
        return scaled.to(input.dtype)

    def reduce(grad_out, input, mean, invstd, weight, _input_g, _weight_g, _bias_g):
        grad, kind = wide(grad_out), invstd.dtype if weight is None else weight.dtype
        sum_dy = grad.sum(others(input))
        sum_dy_xmu = (grad * (wide(input) - by_channel(mean, input))).sum(others(input))
        return sum_dy, sum_dy_xmu, (sum_dy_xmu * invstd).to(kind), sum_dy.to(kind, copy=True)

    def backward(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
        total = count.sum()
        slope = by_channel(sum_dy_xmu * invstd * invstd / total, input)
        centred = wide(grad_out) - by_channel(sum_dy / total, input)
        grad = (centred - (wide(input) - by_channel(mean, input)) * slope) * by_channel(invstd, input)
        return (grad if weight is None else grad * by_channel(weight, input)).to(input.dtype)

    for name, function in {"stats": stats, "gather_stats_with_counts": gather, "elemt": apply,
                           "backward_reduce": reduce, "backward_elemt": backward}.items():
        library.impl(f"batch_norm_{name}", function, "CPU")
    give_operators.kept = library  # its operators go with it


def normalize_on_cpu(batchnorm):
    """SyncBatchNorm.forward without the question whether the input is on a GPU."""
    import torch.distributed as dist

    kind = batchnorm.SyncBatchNorm

    def forward(self, input):
        group = None
        if self.training and dist.is_available() and dist.is_initialized():
            group = self.process_group or dist.group.WORLD
        if group is None or dist.get_world_size(group) == 1:
            return super(kind, self).forward(input)
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / self.num_batches_tracked.item()
        return batchnorm.sync_batch_norm.apply(
            input, self.weight, self.bias, self.running_mean if self.track_running_stats else None,
            self.running_var if self.track_running_stats else None, self.eps, share, group, dist.get_world_size(group))

    kind.forward = forward


def gather_in_a_row(functions):
    """The layer gathers into a matrix of one row, as NCCL takes it; gloo, which has another way there, wants the shape."""
    import torch.distributed as dist

    class Gathering:
        def __getattr__(self, name):
            return getattr(dist, name)

    def in_a_row(name):
        def gather(whole, *arguments, **named):
            return getattr(dist, name)(whole.view(-1), *arguments, **named)

        return staticmethod(gather)

    for name in ("_all_gather_base", "all_gather_into_tensor", "all_gather_single"):
        setattr(Gathering, name, in_a_row(name))
    functions.dist = Gathering()


def accept_in_ddp(distributed):
    """DDP asks for a GPU of a module with such layers."""
    distributed.DistributedDataParallel._passing_sync_batchnorm_handle = lambda self, module: None


PATCHES = [
    ("torch", give_operators),
    ("torch.nn.modules.batchnorm", normalize_on_cpu),
    ("torch.nn.modules._functions", gather_in_a_row),
    ("torch.nn.parallel.distributed", accept_in_ddp),
]
