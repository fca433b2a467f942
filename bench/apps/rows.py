# SPDX-License-Identifier: BSD-3-Clause
"""The applications of bench/apps/run, a function each.

To add one, write a function that returns its Row, and list it in ROWS. It says how to prepare a folder, what runs in
it, which number of the output is the figure of merit, and how results of two runs are compared.
"""
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "test/apps"  # some of these applications have a test there, with input or source


@dataclass(frozen=True)
class Figure:
    """One number of a run's output: the last match of the pattern. `more` is better, or less."""

    what: str
    unit: str
    pattern: str
    more: bool = False

    def read(self, text):
        found = re.findall(self.pattern, text, re.M)
        return float(found[-1]) if found else None


@dataclass(frozen=True)
class Result:
    """Two runs must agree in all matches of the pattern. They are numbers that differ by at most `tolerance`
    times the larger one, or with tolerance 0 texts. `wanted` texts are right in themselves.
    """

    pattern: str
    tolerance: float = 0
    wanted: str = ""

    def read(self, text):
        return re.findall(self.pattern, text, re.M)

    def right(self, found):
        return bool(found) and (not self.wanted or set(found) == {self.wanted})

    def same(self, a, b):
        if not self.tolerance:
            return a == b or self.wanted != ""  # how often may differ: PTRANS leaves out lines
        pairs = [(float(x), float(y)) for x, y in zip(a, b)]
        return len(a) == len(b) and all(abs(x - y) <= self.tolerance * max(abs(x), abs(y)) for x, y in pairs)


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    packages: list
    needs: list  # programs and files, of which the first decides on the library
    prepare: object  # prepare(folder, ranks, mpi)
    command: list
    figures: list
    results: list
    output: str = "out"  # the file of figures and results; out and err are what the program prints
    best: dict = field(default_factory=dict)  # settings of Open MPI with which the library alone is faster, by place
    places: str = "one affine striped"


def nothing(_folder, _ranks, _mpi):
    pass


def copy(name, as_name=None):
    def prepare(folder, _ranks, _mpi):
        shutil.copy(HERE / name, folder / (as_name or name))

    return prepare


def compiled(source, *options):
    """Compiles a driver into the folder, as `driver`, by the library's own compiler."""

    def prepare(folder, _ranks, mpi):
        words = [f"mpicc.{mpi}", "-std=gnu11", "-O3", "-Wall", "-Wextra"]
        subprocess.run([*words, "-o", folder / "driver", source, *options, "-lm"], check=True)

    return prepare


# Alltoall and Alltoallv in pairs, and Allreduce as a reduce-scatter and an allgather (bench/run --collectives ...)
PAIRWISE = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_alltoall_algorithm": 2, "coll_tuned_alltoallv_algorithm": 2}
RABENSEIFNER = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_allreduce_algorithm": 6}


def hpcc(_quick):
    """The input of the test, but larger, and on all ranks. N sets the size of every part: MPIFFT has 2^18 numbers."""

    def prepare(folder, ranks, _mpi):
        rows = {1: 1, 2: 1, 4: 2, 16: 4}[ranks]
        values = {"N;": 1820, "NB$": 64, "P$": rows, "Q$": ranks // rows}
        text = (TESTS / "hpccinf.txt").read_text()
        for what, value in values.items():
            text = re.sub(rf"^\d+(?= +{what})", str(value), text, flags=re.M)
        (folder / "hpccinf.txt").write_text(text)

    def figure(what, unit, key):
        return Figure(what, unit, rf"^{key}=(\S+)", more=True)

    return Row(
        "hpcc", "HPCC", ["hpcc"], ["hpcc"], prepare, ["hpcc"],
        [
            figure("MPIFFT", "Gflop/s", "MPIFFT_Gflops"),
            figure("HPL", "Tflop/s", "HPL_Tflops"),
            figure("PTRANS", "GB/s", "PTRANS_GBs"),
            figure("RandomAccess", "GUP/s", "MPIRandomAccess_GUPs"),
            figure("ring of random order", "GB/s", "RandomlyOrderedRingBandwidth_GBytes"),
        ],
        [
            Result(r"^Success=(.*)", wanted="1"),
            Result(r"^Found \d+ errors in .*\((\w+)\)", wanted="passed"),
            Result(r"^MPIFFT_N=(.*)"),
            Result(r"^HPL_N=(.*)"),
            Result(r"(PASSED|FAILED)", wanted="PASSED"),
        ],
        output="hpccoutf.txt",
    )  # fmt: skip


def fft(n, pairs):
    def row(quick):
        size, times = (16, 2) if quick else (n, pairs)
        return Row(
            f"fft-{n}", f"3-D FFT of {n}^3 (FFTW), {2 * pairs} transforms", ["libfftw3-dev"],
            ["/usr/lib/*/libfftw3.so", "/usr/include/fftw3.h"],
            compiled(HERE / "fft.c", "-lfftw3"), ["./driver", str(size), str(times)],
            [Figure("time", "s", r"^seconds (\S+)")],
            [Result(r"^spectrum (\S+)", 1e-9), Result(r"^error (\w+)", wanted="small")],
            best={"affine": PAIRWISE, "striped": PAIRWISE},
        )  # fmt: skip

    return row


def espresso(_quick):
    return Row(
        "qe", "Quantum ESPRESSO, 8 Si atoms", ["quantum-espresso", "quantum-espresso-data"],
        ["pw.x", "/usr/share/espresso/pseudo/Si.pz-vbc.UPF"], copy("silicon.pw"), ["pw.x", "-in", "silicon.pw"],
        [Figure("time", "s", r"^ +electrons +:.*CPU +([\d.]+)s WALL")],
        [Result(r"^!.*total energy +=\s+(\S+)", 1e-8), Result(r"(JOB DONE)")],
        best={"affine": PAIRWISE, "striped": PAIRWISE},
    )  # fmt: skip


def gromacs(_quick):
    def prepare(folder, _ranks, _mpi):
        shutil.copy(HERE / "water.mdp", folder)
        shutil.copy(HERE / "water.top", folder)
        solvate = "gmx -quiet solvate -cs spc216.gro -box 4 4 4 -p water.top -o water.gro"
        grompp = "gmx -quiet grompp -f water.mdp -c water.gro -p water.top -o water.tpr -maxwarn 2"
        for words in solvate, grompp:
            subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)

    return Row(
        "gromacs", "GROMACS, 2,100 waters, PME", ["gromacs"], ["gmx_mpi", "gmx"], prepare,
        "gmx_mpi -quiet mdrun -s water.tpr -reprod -ntomp 1 -pin off -noconfout".split(),
        [Figure("time", "s", r"^ +Time: +\S+ +(\S+)")],
        # Single precision, and chaotic: only the averages over the steps come again.
        [Result(r"A V E R A G E S[^$]*?Potential[^\n]*\n(?: +\S+)* +(-\d\S+)", 5e-3)],
        output="md.log",
    )  # fmt: skip


def lammps(collective):
    def row(quick):
        words = ["lmp", "-log", "none", "-in", "salt.lmp", "-var", "steps", "10" if quick else "50"]
        name, how = {"no": ("lammps", ""), "yes": ("lammps-collective", ", collective")}[collective]
        return Row(
            name, f"LAMMPS, 13,824 ions, PPPM{how}", ["lammps"], ["lmp"], copy("salt.lmp"),
            [*words, "-var", "collective", collective],
            [Figure("time", "s", r"^Loop time of (\S+)")],
            [Result(r"^ +\d+ +\S+ +\S+ +\S+ +(\S+) +\S+ *$", 1e-4)],
        )  # fmt: skip

    return row


def cp2k(_quick):
    return Row(
        "cp2k", "CP2K, 8 waters", ["cp2k"], ["cp2k.psmp", "/usr/share/cp2k/GTH_POTENTIALS"], copy("water.cp2k"),
        ["cp2k.psmp", "-i", "water.cp2k"],
        [Figure("time", "s", r"^ CP2K +1 +\S+ +\S+ +\S+ +\S+ +(\S+)")],
        [Result(r"ENERGY\| Total FORCE_EVAL.*?(-\S+)$", 1e-8)],
    )  # fmt: skip


def hypre(quick):
    """Stands for HPCG too, of which Debian has no package: the same stencil, conjugate gradients and multigrid."""
    return Row(
        "hypre", "hypre, 27-point stencil, CG and multigrid", ["libhypre-dev"],
        ["/usr/lib/*/libHYPRE.so", "/usr/include/hypre/HYPRE.h"],
        compiled(HERE / "solver.c", "-I/usr/include/hypre", "-lHYPRE"),
        ["./driver", "12", "1"] if quick else ["./driver", "48", "3"],
        [Figure("time", "s", r"^seconds (\S+)")],
        [Result(r"^iterations (\d+)"), Result(r"^sum (\S+)", 1e-7)],
    )  # fmt: skip


def moe(share):
    def row(quick):
        tokens, steps = ("512", "2") if quick else ("16384", "12")
        return Row(
            f"moe-{share}", f"Mixture of experts in 12 steps, {share} of the tokens to one", [], [], compiled(TESTS / "moe.c"),
            ["./driver", tokens, str(share), steps, "0"],
            [Figure("time", "ms", r'"step_ms": ([\d.]+)')],
            [Result(r"^\d+ ([0-9a-f]{16})$")],
            best={"affine": PAIRWISE, "striped": PAIRWISE},
            # The shares of recorded routing are those of the busiest of many experts.
            places="one affine striped" if share > 0.5 else "affine striped",
        )  # fmt: skip

    return row


def gradients(quick):
    return Row(
        "gradients", "Gradient sums of 8 MiB by mpi4py", ["python3-mpi4py", "python3-numpy"],
        ["mpi4py.MPI", "numpy"], nothing,
        ["/usr/bin/python3", str(HERE / "gradients.py"), *(["1", "2"] if quick else ["8", "10"])],
        [Figure("time", "s", r"^seconds (\S+)")],
        [Result(r"^sum (\d+)"), Result(r"^wrong (\d+)", wanted="0")],
        best={"affine": RABENSEIFNER, "striped": RABENSEIFNER},
    )  # fmt: skip


ROWS = [
    hpcc, fft(64, 20), fft(128, 10), fft(200, 5), espresso, gromacs, lammps("no"), lammps("yes"), cp2k, hypre,
    moe(0.16), moe(0.32), moe(0.9), gradients,
]  # fmt: skip
