#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""matmul.c as a Python user writes it: distributed matrix multiplication by Allgather, mpi4py.

The upper-case calls gather buffers, the lower-case ones pickled objects, for which mpi4py itself
calls Allgather for the sizes and Allgatherv for the bytes. Matrices, weights and checksum are
those of matmul.c. Buffers are array.array: numpy is not needed, and Debian's mpi4py doesn't bring it.

allgather_matmul.py N: prints a line "step name checksum" for each way of gathering.
"""
import sys
from array import array
from operator import mul

from mpi4py import MPI

PRIME = 1000003
UNTOUCHED = -1.0


class Rows:
    """Which rows each rank owns: the same number, the last ones padded, or each another number."""

    def __init__(self, comm, n, uneven):
        p = comm.size
        even = -(-n // p)
        self.n = n
        self.first = [n * r * r // (p * p) if uneven else r * even for r in range(p + 1)]
        self.counts = [(b - a) * n for a, b in zip(self.first, self.first[1:])]
        self.displs = [row * n for row in self.first[:p]]
        self.own = range(self.first[comm.rank], self.first[comm.rank + 1])

    def fill(self, matrix):
        """This rank's rows: of A if matrix is 0, else of the B of that step."""
        n = self.n
        return array("d", [(i * i + 3 * i * j + 7 * j + 31 * matrix) % 997 if i < n else 0
                           for i in self.own for j in range(n)])

    def fill_whole(self, comm, matrix):
        """A buffer for all rows, with this rank's in their place."""
        whole = array("d", [UNTOUCHED]) * (self.first[-1] * self.n)
        begin = self.displs[comm.rank]
        whole[begin:begin + self.counts[comm.rank]] = self.fill(matrix)
        return whole


def gather_pickled(comm, rows, step):
    parts = comm.allgather((rows.own.start, rows.fill(step).tolist()))
    assert [start for start, _ in parts] == rows.first[:-1], "blocks are not in rank order"
    return array("d", [x for _, part in parts for x in part])


def gather_buffer(comm, rows, step):
    whole = array("d", [UNTOUCHED]) * (rows.first[-1] * rows.n)
    comm.Allgather([rows.fill(step), MPI.DOUBLE], [whole, MPI.DOUBLE])
    return whole


def gather_in_place(comm, rows, step):
    whole = rows.fill_whole(comm, step)
    comm.Allgather(MPI.IN_PLACE, [whole, MPI.DOUBLE])
    return whole


def gather_uneven(comm, rows, step):
    whole = array("d", [UNTOUCHED]) * (rows.first[-1] * rows.n)
    comm.Allgatherv([rows.fill(step), MPI.DOUBLE],
                    [whole, (rows.counts, rows.displs), MPI.DOUBLE])
    return whole


def gather_uneven_in_place(comm, rows, step):
    whole = rows.fill_whole(comm, step)
    comm.Allgatherv(MPI.IN_PLACE, [whole, (rows.counts, rows.displs), MPI.DOUBLE])
    return whole


# name, uneven, function
WAYS = (
    ("pickled_allgather", False, gather_pickled),
    ("pickled_allgather_uneven", True, gather_pickled),
    ("allgather", False, gather_buffer),
    ("allgather_in_place", False, gather_in_place),
    ("allgatherv", True, gather_uneven),
    ("allgatherv_in_place", True, gather_uneven_in_place),
)


def multiply(rows, b):
    """This rank's rows of C, weighed by their place and summed modulo PRIME."""
    n = rows.n
    columns = [b[j:n * n:n] for j in range(n)]
    a = rows.fill(0)
    total = 0
    for at, i in enumerate(rows.own):
        row = a[at * n:(at + 1) * n]
        total += (i + 1) * sum((j + 1) * int(sum(map(mul, row, columns[j]))) for j in range(n))
    return total % PRIME


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        sys.exit("usage: allgather_matmul.py N, with N from 1")
    n = int(sys.argv[1])
    comm = MPI.COMM_WORLD
    for step, (name, uneven, gather) in enumerate(WAYS, 1):
        rows = Rows(comm, n, uneven)
        total = comm.allreduce(multiply(rows, gather(comm, rows, step)))
        if comm.rank == 0:
            print(step, name, total % PRIME, flush=True)


main()
