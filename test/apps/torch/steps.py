# SPDX-License-Identifier: BSD-3-Clause
"""One training step each of DDP, FSDP and an MoE-like unequal all_to_all, and the reductions that FSDP2
makes of gradients, printed as numbers.

Run by run.sh under torchrun, with the preload and without; the printed lines are compared. Data and
weights depend on the rank and a fixed seed alone. Numbers are small integers where sums are exact in
any order, so that equal means bitwise equal; the FSDP step's loss has its tolerance in run.sh.
"""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def ddp_step(rank, device):
    torch.manual_seed(7)
    layer = torch.nn.Linear(512, 512, bias=False, device=device)
    with torch.no_grad():
        layer.weight.copy_(torch.randint(-2, 3, layer.weight.shape, device=device).float())
    model = DistributedDataParallel(layer, device_ids=[device.index])
    torch.manual_seed(100 + rank)
    x = torch.randint(-2, 3, (64, 512), device=device).float()
    model(x).sum().backward()
    return layer.weight.grad.double().sum().item()


def fsdp_step(rank, device):
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(11)
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 16)).to(device)
    model = FullyShardedDataParallel(model, device_id=device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(200 + rank)
    x, y = torch.randn(64, 512, device=device), torch.randn(64, 16, device=device)
    for _ in range(3):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimiser.step()
    dist.all_reduce(loss)
    return loss.item()


def gradient_step(rank, world, device):
    """An average, and sums by a factor, one of them in a group; exact where world is a power of two."""
    whole = torch.arange(world * 4096, device=device).remainder(13).float() + rank
    parts = [torch.empty(4096, device=device) for _ in range(4)]
    half = dist._make_nccl_premul_sum(0.5)
    dist.reduce_scatter_tensor(parts[0], whole, op=dist.ReduceOp.AVG)
    dist.reduce_scatter_tensor(parts[1], whole, op=half)
    with dist._coalescing_manager(device=device):
        dist.reduce_scatter_tensor(parts[2], whole, op=half)
        dist.reduce_scatter_tensor(parts[3], whole + 1, op=half)
    return sum(part.double().sum().item() * (n + 1) for n, part in enumerate(parts))


def expert_step(rank, world, device):
    """Rank 0 is the expert that most tokens go to."""
    counts = [(3000 if to == 0 else 200) + 10 * rank + to for to in range(world)]
    theirs = [(3000 if rank == 0 else 200) + 10 * r + rank for r in range(world)]
    tokens = torch.arange(sum(counts) * 64, device=device).remainder(97).float().view(-1, 64) + rank
    got = torch.empty(sum(theirs), 64, device=device)
    dist.all_to_all_single(got, tokens, theirs, counts)
    back = torch.empty_like(tokens)
    dist.all_to_all_single(back, got * 2, counts, theirs)
    assert torch.equal(back, tokens * 2)
    return got.double().sum().item()


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", rank % torch.cuda.device_count())
    os.environ["NCCL_HOSTID"] = f"host{rank}" if torch.cuda.device_count() < world else ""
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    results = {
        "ddp": ddp_step(rank, device),
        "fsdp": fsdp_step(rank, device),
        "gradients": gradient_step(rank, world, device),
        "experts": expert_step(rank, world, device),
    }
    if rank == 0:
        for name, value in results.items():
            print(f"{name} {value:.9g}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
