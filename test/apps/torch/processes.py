# SPDX-License-Identifier: BSD-3-Clause
"""Processes of PyTorch, on the CPU: loaders by fork, spawn and forkserver, and DDP over gloo.

Run by run.sh with the preload and without; both print the same, bit by bit.
"""
import os
import socket

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.full((8,), float(i))


def train(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(64, 8))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        torch.manual_seed(100 * step + rank)
        optimiser.zero_grad()
        model(torch.randn(16, 64)).pow(2).sum().backward()
        optimiser.step()
    if rank == 0:
        print("ddp", model.module.weight.detach().double().sum().item().hex(), flush=True)
    dist.destroy_process_group()


def main():
    for way in ("fork", "spawn", "forkserver"):
        loader = DataLoader(Numbers(), batch_size=8, num_workers=2, multiprocessing_context=way)
        print(way, sum(float(batch.sum()) for batch in loader), flush=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, args=(2, port), nprocs=2)


if __name__ == "__main__":
    main()
