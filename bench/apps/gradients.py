#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""gradients.py BUCKETS STEPS: data-parallel training as mpi4py does it. Each step sums BUCKETS gradients of 1 MiB of
floats over all ranks, those of the biases in one of 4 KiB, and the loss.

Prints the seconds of all steps and a weighed sum of all gradients. They are whole numbers, so sums are exact in any
order, and each rank knows what they must be; exit status 1 if one is not.
"""
import sys

import numpy
from mpi4py import MPI

FLOATS, BIASES = 1 << 18, 1 << 10


def gradient(place, rank, step):
    return ((place * 7 + rank * 13 + step * 5) % 17).astype(numpy.float32)


def main(buckets, steps):
    comm = MPI.COMM_WORLD
    parts = [numpy.arange(FLOATS) + b * FLOATS for b in range(buckets)] + [numpy.arange(BIASES)]
    taken, total, wrong = 0.0, 0, 0
    for step in range(steps):
        mine = [gradient(part, comm.rank, step) for part in parts]
        loss = numpy.array([float(comm.rank + step)])
        comm.Barrier()
        since = MPI.Wtime()
        for part in mine:
            comm.Allreduce(MPI.IN_PLACE, part)
        comm.Allreduce(MPI.IN_PLACE, loss)
        taken += MPI.Wtime() - since
        for part, got in zip(parts, mine):
            period = sum(gradient(numpy.arange(17) + part[0], r, step) for r in range(comm.size))
            wrong += int((got != numpy.resize(period, got.size)).sum())
            total = (total + int((got * (part % 997 + 1)).sum(dtype=numpy.float64))) % 1000003
        wrong += int(loss[0] != sum(r + step for r in range(comm.size)))
    taken, wrong = comm.allreduce(taken, MPI.MAX), comm.allreduce(wrong)
    if comm.rank == 0:
        print(f"seconds {taken:.6f}\nsum {total}\nwrong {wrong}")
    return int(wrong > 0)


if len(sys.argv) != 3:
    sys.exit(__doc__.splitlines()[0])
sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
