# SPDX-License-Identifier: BSD-3-Clause
"""From a checkout, as packages/collshim/package.py of a repository of one's own:

    spack dev-build --source-path CHECKOUT collshim@0.1.0
"""
from spack.package import *


class Collshim(MakefilePackage, CudaPackage):
    """Reroutes large MPI and NCCL collectives of unmodified programs onto all rails of a cluster, by LD_PRELOAD."""

    license("BSD-3-Clause")
    version("0.1.0")

    variant("openmpi", default=True, description="The backend for Open MPI")
    variant("mpich", default=True, description="The backend for the MPICH family, Intel MPI included")
    variant("ucx", default=True, description="Helper processes (COLLSHIM_PPG)")
    variant("slurm", default=False, description="The plugin of Slurm: srun --collshim")
    variant("callsites", default=True, description="Call sites with file and line in reports")
    variant("glpk", default=False, description="The exact optimum of an exchange in collshim plan")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libyaml")
    depends_on("hwloc")
    depends_on("jansson")
    depends_on("openmpi", when="+openmpi")
    depends_on("mpich", when="+mpich", type="build")
    depends_on("ucx", when="+ucx")
    depends_on("slurm", when="+slurm")
    depends_on("libunwind", when="+callsites")
    depends_on("elfutils", when="+callsites")
    depends_on("glpk", when="+glpk")
    depends_on("nccl", when="+cuda")
    # One of the two is in PATH as mpicc; each is named by its own path below.
    conflicts("~openmpi~mpich~cuda", msg="collshim without a backend reroutes nothing")

    def knobs(self):
        """The Makefile's knobs; what is left out here is not looked for elsewhere."""
        spec = self.spec

        def compiler(name):
            return join_path(spec[name].prefix.bin, "mpicc") if spec.satisfies("+" + name) else "none"

        return [
            "PREFIX=" + self.prefix,
            "MPICC_openmpi=" + compiler("openmpi"),
            "MPICC_mpich=" + compiler("mpich"),
            "CUDA_HOME=" + (spec["cuda"].prefix if spec.satisfies("+cuda") else "/none"),
            "NCCL_HOME=" + (spec["nccl"].prefix if spec.satisfies("+cuda") else "/none"),
        ]

    def build(self, spec, prefix):
        make(*self.knobs())

    def install(self, spec, prefix):
        make("install", *self.knobs())

    def setup_run_environment(self, env):
        # The preload is the user's choice: `collshim exec`, or the module that make install writes.
        env.prepend_path("PATH", self.prefix.bin)
