# SPDX-License-Identifier: BSD-3-Clause
# The Makefile's findings on this machine, and the files that depend on them: a compiler, header or source that
# changes between two builds makes due what would come out differently (test/build).
#
# Each finding is a file, written only when it changes; everything made from a finding depends on its file.
# Options that only warn are left out, so that a build with -Werror reuses one without.
differ = $(filter-out -W%,$(1)) $(foreach stage,a l p,$(filter -W$(stage)$(comma)%,$(1)))
FOUND_cc      := $(CC) $(call macros,$(CC)) $(CXX) $(call differ,$(CFLAGS) $(OWN_CFLAGS))
FOUND_link    := $(FOUND_cc) $(LDFLAGS)
FOUND_family   = $(if $(MPI_$(1)),$(MPICC_$(1)) $(MPI_$(1)) $(shell $(MPICC_$(1)) -show) $(LINK_$(1)) $(FOUND_cc))
FOUND_openmpi := $(call FOUND_family,openmpi)
FOUND_mpich   := $(call FOUND_family,mpich)
FOUND_abi     := $(MPI_abi) $(FOUND_cc)
FOUND_cuda    := $(if $(CUDA),$(CUDA_CFLAGS) $(call macros,$(CC) $(CUDA_CFLAGS),cudaTypedefs.h))
FOUND_nccl    := $(if $(NCCL),$(NCCL_CFLAGS) $(call macros,$(CC) $(NCCL_CFLAGS),nccl.h))
FOUND_kernels := $(ARCH_CFLAGS) $(if $(NVCC),$(NVCC) $(shell $(NVCC) --version | tail -n 1) $(COMPRESS) $(CUDA_PTX),$(KERNELS))
FOUND_ucx     := $(UCX)
FOUND_glpk    := $(GLPK)
FOUND_spank   := $(SPANK)
FOUND_unwind  := $(UNWIND)
FOUND_dw      := $(DW)

FOUND += cc link openmpi mpich abi cuda nccl kernels ucx glpk spank unwind dw
# A program has a finding of its own, the list of its inputs: a deleted source leaves no newer file behind.

# Without $(B), which is the same folder by another name for `make B=/path/of/build install`.
found = $(strip $(patsubst $(B)/%,%,$(FOUND_$(1))))
define found_rule
$(B)/found/$(1): $(if $(findstring <$(file <$(B)/found/$(1))>,<$(call found,$(1))>),,different)
	@mkdir -p $$(@D)
	@printf %s '$$(subst ','\'',$$(call found,$(1)))' >$$@
endef
$(foreach f,$(FOUND),$(eval $(call found_rule,$(f))))

# The objects' dependencies on findings, and those of programs that are compiled as they are linked. Rules with %
# name theirs.
$(WITH_CUDA_H) $(WITH_NCCL_H): $(B)/found/cuda
$(WITH_NCCL_H) $(NCCL_CAUGHT) $(call pic,shim/helper/main.c): $(B)/found/nccl
$(call pic,transports/net/ucx.c shim/helper/main.c): $(B)/found/ucx
$(call pic,shim/cli/plan/lp.c): $(B)/found/glpk
$(call pic,shim/slurm/spank.c): $(B)/found/spank
$(call pic,shim/cli/report/lines.c): $(B)/found/dw
$(call pic,shim/record/sites/walk.c): $(B)/found/unwind
$(call pic,transports/cuda/cuda_reduce.c transports/cuda/cuda_image.S): $(B)/found/kernels
