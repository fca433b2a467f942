# SPDX-License-Identifier: BSD-3-Clause
# collshim. `make` builds everything this machine has the headers for; `make help` lists the rest.

# Knobs -------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
# Extra instrumentation, e.g. SANITIZE=address,undefined
SANITIZE ?=
# Compiler wrappers, one per MPI family; a family whose wrapper is absent is left out.
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich   ?= mpicc.mpich
# What links a backend. Open MPI's handles are addresses in its library; MPICH's are numbers, and a
# backend that names no library serves every MPI of the MPICH ABI.
LINK_openmpi ?= $(MPICC_openmpi)
LINK_mpich   ?= $(CC)
# The CUDA toolkit; without its headers the GPU parts are left out, without nvcc the GPU kernels.
CUDA_HOME ?= /usr/local/cuda
# Where NCCL's header is; without it (or CUDA's) its backend is left out. The library is found at run time.
NCCL_HOME ?= $(firstword $(patsubst %/include/nccl.h,%,$(wildcard $(CUDA_HOME)/include/nccl.h \
               /usr/include/nccl.h)) $(CUDA_HOME))
# Machine code in the kernels' image, as far as this nvcc makes it, and the one PTX from which drivers make
# what is newer, which takes them seconds. CUDA 13 dropped Volta (70), PTX for it included; CUDA 12.8 brought
# Blackwell (100). 80 also runs on 86 and 89, 100 on 103.
CUDA_ARCHS ?= $(or $(filter 70 75 80 90 100,$(NVCC_ARCHS)),75 80 90)
CUDA_PTX   ?= 90
# Of CUDA 12, nvcc has no such option or the older drivers (before 12.4) cannot unpack what it makes.
COMPRESS    = $(if $(filter 70,$(NVCC_ARCHS)),,--compress-mode=size)
# V=1 prints the commands
V ?= 0

VERSION := 0.1.0
B       := build

# What there is -----------------------------------------------------------------------------
# All macros that a compiler knows behind some headers, as one number; none where a header is missing.
macros = $(shell text=$$($(1) -E -dM $(2:%=-include %) -x c /dev/null 2>/dev/null) && \
           printf %s "$$text" | cksum | tr ' ' -)
CUDA := $(if $(wildcard $(CUDA_HOME)/include/cudaTypedefs.h),yes)
NCCL := $(if $(CUDA),$(if $(wildcard $(NCCL_HOME)/include/nccl.h),yes))
NVCC := $(if $(CUDA),$(wildcard $(CUDA_HOME)/bin/nvcc))
NVCC_ARCHS := $(if $(NVCC),$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
# UCX's headers; the library is found at run time. Without them there are no helpers (COLLSHIM_PPG).
UCX  := $(call macros,$(CC),ucp/api/ucp.h)
HELPER := $(if $(UCX)$(NCCL),$(B)/collshim-helper)
MPI_openmpi := $(call macros,$(MPICC_openmpi),mpi.h)
MPI_mpich   := $(call macros,$(MPICC_mpich),mpi.h)
FAMILIES := $(foreach f,openmpi mpich,$(if $(MPI_$(f)),$(f)))

PRELOAD_SRC := $(wildcard shim/preload/*.c shim/preload/*.S)
CUDA_SRC    := $(if $(CUDA),$(filter-out %/cuda_absent.c,$(wildcard transports/cuda_*.c)) transports/cuda_image.S, \
                 transports/cuda_absent.c)
CORE_SRC    := $(wildcard config/*.c planners/*.c planners/*/*.c) \
               $(filter-out transports/mpi_% transports/cuda_% transports/nccl_% transports/ucx%, \
                 $(wildcard transports/*.c))
CUDA_OBJ    := $(patsubst %.S,$(B)/pic/%.o,$(CUDA_SRC:%.c=$(B)/pic/%.o))
DECIDE_SRC  := $(wildcard shim/decide/*.c)
CREW_SRC    := shim/helper/crew.c shim/helper/environment.c shim/helper/spawn.c shim/helper/mailbox.c
NCCL_SRC    := $(wildcard shim/nccl/*.c transports/nccl_*.c) $(CREW_SRC)
BACKEND_SRC := $(wildcard shim/mpi/*.c) $(CREW_SRC) transports/mpi_p2p.c
HELPER_SRC  := shim/helper/main.c shim/helper/mailbox.c shim/helper/near.c config/cpulist.c \
               $(if $(UCX),shim/helper/mpi_work.c shim/helper/channel.c shim/helper/reach.c shim/helper/nameless.c \
                 transports/ucx.c transports/engine.c transports/engine_move.c transports/kernels.c planners/plan.c \
                 planners/flat.c) \
               $(if $(NCCL),$(wildcard shim/helper/nccl_*.c) transports/nccl_run.c)
CLI_SRC     := $(wildcard shim/cli/*.c)
BENCH_SRC   := $(wildcard bench/*.c)
UNIT_SRC    := $(wildcard test/unit/*.c) $(DECIDE_SRC) \
               shim/nccl/pace.c shim/nccl/pick.c shim/helper/near.c $(CREW_SRC) \
               $(addprefix bench/regret/,weigh.c evidence.c worth.c)
LP_SRC      := $(wildcard test/lp/*.c) shim/cli/lp.c
GLPK        := $(call macros,$(CC),glpk.h)
MPI_TESTS   := $(notdir $(basename $(wildcard test/mpi/*.c)))
FORTRAN_TESTS := $(notdir $(basename $(wildcard test/fortran/*.f90)))

TARGETS := $(B)/libcollshim.so $(B)/collshim $(HELPER) $(FAMILIES:%=$(B)/libcollshim-%.so) \
           $(if $(NCCL),$(B)/libcollshim-nccl.so $(B)/collshim-overhead-nccl $(B)/collshim-enqueue-nccl) \
           $(FAMILIES:%=$(B)/collshim-bench-%) $(FAMILIES:%=$(B)/collshim-overhead-%) \
           $(B)/test/bench_plan $(B)/test/bench_congestion $(B)/test/bench_balance $(B)/test/bench_regret

OWN_CFLAGS := -std=gnu11 -I. -MMD -MP -Wall -Wextra -Wshadow -Wstrict-prototypes \
              -ffp-contract=off -fvisibility=hidden -DCOLLSHIM_VERSION='"$(VERSION)"' \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
SHARED := -shared -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-4s %s\n' $(1) $@)
inputs = $(filter-out $(B)/found/% %.def %.h %.inc,$^)

.DEFAULT_GOAL := all
.PHONY: all install uninstall test unit lint format bench clean help
all: $(TARGETS)

help:
	@printf '%s\n' 'make            build into $(B)/ (MPI families found: $(or $(FAMILIES),none))' \
	  'make install    into PREFIX=$(PREFIX), behind DESTDIR' \
	  'make uninstall  remove what install put there' \
	  'make test       scripts/test: all that needs no GPU' \
	  'make unit       build and run the unit tests' \
	  'make grade      balancing against the exact linear program (needs GLPK)' \
	  'make test-programs  build what the other suites run' \
	  'make test-gpu   the GPU contract and NCCL on this machine'"'"'s device, with rates' \
	  'make sanitize   the GPU contract on the simulated driver, under sanitizers' \
	  'make bench      the A/B suite on the emulated cluster' \
	  'make lint       clang-tidy, cppcheck, shellcheck, format' \
	  'make format     apply the format' \
	  'make clean      remove $(B)/' \
	  'Knobs, each with a comment at the top of the Makefile: CFLAGS SANITIZE V MPICC_openmpi MPICC_mpich' \
	  'LINK_openmpi LINK_mpich CUDA_HOME NCCL_HOME CUDA_ARCHS CUDA_PTX'

# The preload: libc and nothing else --------------------------------------------------------
$(B)/libcollshim.so: $(addsuffix .o,$(basename $(PRELOAD_SRC:%=$(B)/pic/%))) shim/preload/exports.map
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) $(SHARED) -nostartfiles -Wl,--version-script=shim/preload/exports.map \
	  -o $@ $(filter %.o,$^) $(LDFLAGS)

# Backends, benches and test programs: one source, once per family ----------------------------
define family_rules
$(B)/$(1)/%.o: %.c $(B)/found/$(1)
	$$(call say,CC)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) $$(if $$(filter bench/%,$$<),-Ibench) -fPIC \
	  -DCOLLSHIM_FAMILY='"$(1)"' -c -o $$@ $$<
$(B)/libcollshim-$(1).so: $$(BACKEND_SRC:%.c=$(B)/$(1)/%.o) $$(DECIDE_SRC:%.c=$(B)/pic/%.o) $$(CORE_SRC:%.c=$(B)/pic/%.o) $(CUDA_OBJ)
	$$(call say,LINK)
	$$(Q)$(LINK_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) $$(SHARED) -o $$@ $$(inputs) -l:libyaml.a $$(LDFLAGS)
$(B)/collshim-bench-$(1): $$(BENCH_SRC:%.c=$(B)/$(1)/%.o)
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$(inputs) -ldl -lm $$(LDFLAGS)
$(B)/collshim-overhead-$(1): $(B)/$(1)/bench/overhead/overhead.o $$(filter-out %/main.o,$$(BENCH_SRC:%.c=$(B)/$(1)/%.o))
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$(inputs) -ldl -lm $$(LDFLAGS)
$(B)/$(1)/test/mpi/%: $(B)/$(1)/test/mpi/%.o
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$< -ldl -lm -lpthread $$(LDFLAGS)
$(B)/$(1)/test/fortran/%: test/fortran/%.f90 $$(wildcard test/fortran/*.inc) $(B)/found/$(1)
	$$(call say,FC)
	$$(Q)mkdir -p $$(@D)
	$$(Q)mpif90.$(1) -O1 -g -J $$(@D) -o $$@ $$<
endef
$(foreach f,$(FAMILIES),$(eval $(call family_rules,$(f))))

# NCCL's backend: headers at build time only, the library is the application's --------------------
NCCL_CFLAGS := -isystem $(CUDA_HOME)/include -isystem $(NCCL_HOME)/include
NCCL_OBJ    := $(NCCL_SRC:%.c=$(B)/pic/%.o)
$(filter-out $(CREW_SRC:%.c=$(B)/pic/%.o),$(NCCL_OBJ)) $(B)/pic/shim/helper/nccl_%.o: OWN_CFLAGS += $(NCCL_CFLAGS)
$(B)/libcollshim-nccl.so: $(NCCL_OBJ) $(DECIDE_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o) $(filter-out %/cuda_describe.o,$(CUDA_OBJ))
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) $(SHARED) -o $@ $(inputs) -l:libyaml.a -ldl -lm -lpthread $(LDFLAGS)

# What the preload adds to a call of NCCL, against one that does nothing.
$(patsubst %,$(B)/pic/bench/overhead/%.o,nccl enqueue null_nccl): OWN_CFLAGS += $(NCCL_CFLAGS)
$(B)/nullnccl/libnccl.so.2: $(B)/pic/bench/overhead/null_nccl.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -shared -Wl,-soname,libnccl.so.2 -o $@ $(inputs) $(LDFLAGS)
$(B)/nullnccl/libcuda.so.1: $(B)/pic/bench/overhead/null_cuda.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -shared -Wl,-soname,libcuda.so.1 -o $@ $(inputs) $(LDFLAGS)
$(B)/collshim-overhead-nccl: $(B)/pic/bench/overhead/nccl.o $(B)/nullnccl/libnccl.so.2
$(B)/collshim-enqueue-nccl: $(B)/pic/bench/overhead/enqueue.o $(B)/nullnccl/libnccl.so.2 | $(B)/nullnccl/libcuda.so.1
$(B)/collshim-overhead-nccl $(B)/collshim-enqueue-nccl:
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -ldl -lpthread $(LDFLAGS)

# The command ---------------------------------------------------------------------------------
$(B)/collshim: $(CLI_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o) $(CUDA_OBJ)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -lyaml -lhwloc -ljansson -lm $(if $(GLPK),-lglpk) $(LDFLAGS)

# Balancing is planned during the call that it is for.
$(B)/pic/planners/balance/%.o: override CFLAGS := $(CFLAGS:-O2=-O3)

# What helps a rank: a process of its own, never linked into anything of the application's.
$(B)/pic/shim/helper/main.o: OWN_CFLAGS += $(if $(UCX),-DHELPER_MPI=1) $(if $(NCCL),-DHELPER_NCCL=1)
$(B)/collshim-helper: $(HELPER_SRC:%.c=$(B)/pic/%.o) $(filter-out %/cuda_describe.o,$(CUDA_OBJ))
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -rdynamic -o $@ $(inputs) -ldl -lpthread $(LDFLAGS)

$(B)/test/bench_plan: $(B)/pic/bench/planning/planning.o
$(B)/test/bench_balance: $(B)/pic/bench/balance/balance.o
$(B)/test/bench_congestion: $(B)/pic/bench/congestion/congestion.o
$(B)/test/bench_%: $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -lyaml $(LDFLAGS)

# What choosing costs, simulated.
REGRET_SRC := $(filter-out %/record.c,$(wildcard bench/regret/*.c))
$(B)/test/bench_regret: $(REGRET_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -lm $(LDFLAGS)

# What runs on a machine that has a GPU, a compiler and the CUDA toolkit, and perhaps nothing else.
GPU_CORE_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(filter-out config/yaml.c,$(CORE_SRC)) test/gpu/no_yaml.c) \
                $(filter-out %/cuda_describe.o,$(CUDA_OBJ))

# Two paths on GPUs, simulated or not.
COLLABORATIVE_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(wildcard bench/collaborative/*.c))
$(COLLABORATIVE_OBJ): OWN_CFLAGS += $(CUDA_CFLAGS)
$(B)/test/bench_collaborative: $(COLLABORATIVE_OBJ) $(GPU_CORE_OBJ)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -ldl -lm -lpthread $(LDFLAGS)

$(B)/pic/shim/cli/lp.o: OWN_CFLAGS += $(if $(GLPK),-DCOLLSHIM_GLPK)

# The exact optimum that balancing is graded against, where GLPK is there.
$(B)/test/grade: $(LP_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -lglpk -lyaml -lm $(LDFLAGS)

$(B)/pic/%.o: %.c $(B)/found/cc
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -fPIC -c -o $@ $<

$(B)/pic/shim/preload/jumps.o: shim/preload/jumps.S shim/preload/nccl_symbols.def $(B)/found/cc
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

# CUDA: headers at build time only, the library at run time; the kernels' image is embedded ----------
CUDA_CFLAGS := -isystem $(CUDA_HOME)/include
ARCH_CFLAGS := -DCOLLSHIM_CUDA_ARCHS='"$(CUDA_ARCHS:%=sm_%) and newer"'
$(B)/pic/transports/cuda_reduce.o: OWN_CFLAGS += $(ARCH_CFLAGS)
$(CUDA_OBJ) $(B)/pic/test/gpu/%.o $(B)/pic/test/gpusim/%.o: OWN_CFLAGS += $(CUDA_CFLAGS)

ifneq ($(NVCC),)
$(B)/cuda_kernels.fatbin: transports/cuda_kernels.cu transports/cuda_reduce.def transports/cuda_reduce_args.h \
  $(B)/found/kernels
	$(call say,NVCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -std=c++17 -O3 -I. -t 2 $(COMPRESS) -fatbin -o $@ $< \
	  $(foreach a,$(CUDA_ARCHS),-gencode=arch=compute_$(a),code=sm_$(a)) \
	  -gencode=arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
endif
# Without nvcc, the image that a build with it has left here.
KERNELS := $(if $(NVCC),$(B)/cuda_kernels.fatbin,$(wildcard $(B)/cuda_kernels.fatbin))
$(B)/pic/transports/cuda_image.o: transports/cuda_image.S $(KERNELS) $(B)/found/cc $(B)/found/kernels
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(if $(KERNELS),-DCUDA_IMAGE='"$(B)/cuda_kernels.fatbin"') -c -o $@ $<

# Tests -----------------------------------------------------------------------------------------
NCCL_CAUGHT   := $(B)/test/nccl_caught $(B)/test/nccl_linked $(B)/test/nccl_static
TEST_PROGRAMS := $(foreach f,$(FAMILIES),$(MPI_TESTS:%=$(B)/$(f)/test/mpi/%) \
                   $(FORTRAN_TESTS:%=$(B)/$(f)/test/fortran/%))
.PHONY: test-programs
test-programs: $(TEST_PROGRAMS) $(B)/unit $(HELPER) $(B)/test/yield.so $(B)/test/cores.so \
                $(if $(CUDA),$(B)/test/gpu_contract $(B)/test/bench_collaborative $(B)/gpusim/libcuda.so.1 \
                  $(B)/gpusim/libnvidia-ml.so.1) \
                $(if $(NCCL),$(B)/test/nccl_ranks $(NCCL_CAUGHT))

# Preloaded: where there are more of MPICH's ranks than cores, and to see where helpers are bound.
$(B)/test/yield.so $(B)/test/cores.so: $(B)/test/%.so: test/mpi/tool/%.c
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -fPIC -shared -o $@ $< -ldl $(LDFLAGS)

$(B)/unit: $(UNIT_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) $$(pkg-config --libs check) -lyaml -lm $(LDFLAGS)

# The simulated driver: a libcuda.so.1 that only tests see, by LD_LIBRARY_PATH; never installed.
SIM_OBJ := $(addprefix $(B)/pic/,$(addsuffix .o,$(basename $(wildcard test/gpusim/*.c test/gpusim/*.cpp))))
$(B)/pic/test/gpusim/%.o: test/gpusim/%.cpp $(B)/found/cc
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) -std=c++17 -fno-exceptions -fno-rtti -I. $(CUDA_CFLAGS) -MMD -MP -fPIC -fvisibility=hidden -O1 \
	  $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -c -o $@ $<
$(B)/gpusim/libcuda.so.1: $(SIM_OBJ)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -shared -Wl,-z,now -Wl,-soname,libcuda.so.1 -o $@ $(inputs) -lpthread $(LDFLAGS)

# What it says of NVLinks comes by another library of NVIDIA's.
$(B)/gpusim/libnvidia-ml.so.1: $(B)/pic/test/nvmlsim/nvml.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -o $@ $(inputs) $(LDFLAGS)

# A libnccl.so.2 on that driver, for tests as well.
NCCL_SIM_OBJ := $(addprefix $(B)/pic/,$(addsuffix .o,$(basename $(wildcard test/ncclsim/*.c test/ncclsim/*.cpp))))
$(NCCL_SIM_OBJ): OWN_CFLAGS += $(NCCL_CFLAGS)
$(B)/pic/test/ncclsim/%.o: test/ncclsim/%.cpp $(B)/found/cc
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) -std=c++17 -fno-exceptions -fno-rtti -I. $(NCCL_CFLAGS) -MMD -MP -fPIC -fvisibility=hidden \
	  $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -c -o $@ $<
$(B)/ncclsim/libnccl.so.2: $(NCCL_SIM_OBJ) $(B)/pic/transports/cuda_driver.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -shared -Wl,-soname,libnccl.so.2 -o $@ $(inputs) -ldl -lpthread $(LDFLAGS)

# Linked against the stand-in, whose symbols are the real library's; which one runs, the loader says.
NCCL_TEST_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(wildcard test/nccl/*.c))
$(NCCL_TEST_OBJ): OWN_CFLAGS += $(NCCL_CFLAGS)
$(B)/test/nccl_ranks: $(NCCL_TEST_OBJ) $(B)/pic/transports/cuda_driver.o $(B)/ncclsim/libnccl.so.2
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -ldl -lm -lpthread $(LDFLAGS)

# The same program by each way to NCCL: it opens it, is linked with it, and has it inside.
$(B)/pic/test/nccl/caught/%.o: OWN_CFLAGS += $(NCCL_CFLAGS)
$(B)/test/nccl_caught: $(B)/pic/test/nccl/caught/caught.o
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -ldl $(LDFLAGS)
$(B)/test/nccl_linked: test/nccl/caught/caught.c $(B)/ncclsim/libnccl.so.2
$(B)/test/nccl_static: test/nccl/caught/caught.c $(NCCL_SIM_OBJ) $(B)/pic/transports/cuda_driver.o
$(B)/test/nccl_linked $(B)/test/nccl_static:
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) $(NCCL_CFLAGS) -DLINKED -o $@ $(inputs) -ldl -lpthread $(LDFLAGS)

GPU_TEST_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(filter-out %/no_yaml.c,$(wildcard test/gpu/*.c)))
$(B)/test/gpu_contract: $(GPU_TEST_OBJ) $(GPU_CORE_OBJ)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $(inputs) -ldl -lm -lpthread $(LDFLAGS)
# On this machine's own GPU. Elsewhere test/gpu/device.sh runs what was built here: that takes the driver alone.
test-gpu: $(if $(CUDA),$(B)/test/gpu_contract $(B)/test/bench_collaborative) \
          $(if $(NCCL),$(B)/libcollshim.so $(B)/libcollshim-nccl.so $(HELPER) $(B)/test/nccl_ranks)
	$(Q)test/gpu/device.sh $(B)
# The simulated driver and what runs on it, under sanitizers.
sanitize: $(if $(NVCC),$(B)/cuda_kernels.fatbin)
	$(Q)test/gpu/sanitize.sh $(B)
.PHONY: test-gpu sanitize

unit: $(B)/unit
	$(Q)$(B)/unit

# The worst of the random cases, and all of them in build/test/grade.txt.
.PHONY: grade
ifneq ($(GLPK),)
grade: $(B)/test/grade
	$(Q)$< >$(B)/test/grade.txt; status=$$?; grep BAD $(B)/test/grade.txt; tail -n 2 $(B)/test/grade.txt; exit $$status
else
grade:
	@echo 'skipped: GLPK (libglpk-dev) is not installed'; exit 77
endif

test:
	scripts/test
bench: all
	bench/run

# What was found --------------------------------------------------------------------------------
# Each finding is a file, written when it is another than before; what was made by a finding depends on its file.
# Options that only warn make no difference, so that a build with -Werror takes over one without.
comma := ,
differ = $(filter-out -W%,$(1)) $(foreach stage,a l p,$(filter -W$(stage)$(comma)%,$(1)))
FOUND := cc link openmpi mpich cuda nccl kernels ucx glpk sources
FOUND_cc      := $(CC) $(call macros,$(CC)) $(CXX) $(call differ,$(CFLAGS) $(OWN_CFLAGS))
FOUND_link    := $(FOUND_cc) $(LDFLAGS)
FOUND_family   = $(if $(MPI_$(1)),$(MPICC_$(1)) $(MPI_$(1)) $(shell $(MPICC_$(1)) -show) $(LINK_$(1)) $(FOUND_cc))
FOUND_openmpi := $(call FOUND_family,openmpi)
FOUND_mpich   := $(call FOUND_family,mpich)
FOUND_cuda    := $(if $(CUDA),$(CUDA_CFLAGS) $(call macros,$(CC) $(CUDA_CFLAGS),cudaTypedefs.h))
FOUND_nccl    := $(if $(NCCL),$(NCCL_CFLAGS) $(call macros,$(CC) $(NCCL_CFLAGS),nccl.h))
FOUND_kernels := $(ARCH_CFLAGS) $(if $(NVCC),$(NVCC) $(shell $(NVCC) --version | tail -n 1) $(COMPRESS) $(CUDA_PTX),$(KERNELS))
FOUND_ucx     := $(UCX)
FOUND_glpk    := $(GLPK)
# An object that is no longer part of a link leaves nothing behind that is newer.
FOUND_sources := $(PRELOAD_SRC) $(CORE_SRC) $(DECIDE_SRC) $(BACKEND_SRC) $(NCCL_SRC) $(CLI_SRC) $(BENCH_SRC) $(UNIT_SRC) $(LP_SRC) $(REGRET_SRC)

.PHONY: different
define found_rule
$(B)/found/$(1): $(if $(findstring <$(file <$(B)/found/$(1))>,<$(strip $(FOUND_$(1)))>),,different)
	@mkdir -p $$(@D)
	@printf %s '$$(subst ','\'',$$(strip $$(FOUND_$(1))))' >$$@
endef
$(foreach f,$(FOUND),$(eval $(call found_rule,$(f))))

# What of these each thing is made by. MPI's programs and all other objects name theirs in their rules.
CUDA_BUILT := $(CUDA_OBJ) $(SIM_OBJ) $(GPU_TEST_OBJ) $(COLLABORATIVE_OBJ) $(B)/pic/test/gpu/no_yaml.o
NCCL_BUILT := $(filter-out $(CREW_SRC:%.c=$(B)/pic/%.o),$(NCCL_OBJ)) $(NCCL_SIM_OBJ) $(NCCL_TEST_OBJ) $(NCCL_CAUGHT) \
              $(patsubst %.c,$(B)/pic/%.o,$(wildcard shim/helper/nccl_*.c) test/nccl/caught/caught.c) \
              $(patsubst %,$(B)/pic/bench/overhead/%.o,nccl enqueue null_nccl)
WITH_CUDA  := $(FAMILIES:%=$(B)/libcollshim-%.so) $(B)/collshim $(B)/collshim-helper
FROM_LISTS := $(TARGETS) $(B)/unit $(B)/test/grade $(B)/test/bench_collaborative $(B)/test/gpu_contract \
              $(B)/gpusim/libcuda.so.1 $(B)/ncclsim/libnccl.so.2 $(B)/test/nccl_ranks
LINKED     := $(FROM_LISTS) $(foreach f,$(FAMILIES),$(MPI_TESTS:%=$(B)/$(f)/test/mpi/%)) $(NCCL_CAUGHT) \
              $(addprefix $(B)/,test/yield.so test/cores.so nullnccl/libnccl.so.2 nullnccl/libcuda.so.1 \
                gpusim/libnvidia-ml.so.1)
$(LINKED): $(B)/found/link
$(FROM_LISTS): $(B)/found/sources
$(CUDA_BUILT) $(NCCL_BUILT) $(WITH_CUDA): $(B)/found/cuda
$(NCCL_BUILT) $(B)/pic/shim/helper/main.o $(B)/collshim-helper: $(B)/found/nccl
$(B)/pic/transports/ucx.o $(B)/pic/shim/helper/main.o $(B)/collshim-helper: $(B)/found/ucx
$(B)/pic/shim/cli/lp.o $(B)/collshim $(B)/test/grade: $(B)/found/glpk
$(B)/pic/transports/cuda_reduce.o: $(B)/found/kernels

# Install ---------------------------------------------------------------------------------------
# DESTDIR is put in front for packagers. The backends lie beside the preload, which looks there, and
# the helper beside the backends, which look there.
INSTALLED := lib/libcollshim.so $(FAMILIES:%=lib/libcollshim-%.so) $(if $(NCCL),lib/libcollshim-nccl.so) \
             $(if $(HELPER),lib/collshim-helper) bin/collshim $(FAMILIES:%=bin/collshim-bench-%) bin/collshim-tune \
             $(if $(NCCL),bin/collshim-tune-nccl) share/man/man1/collshim.1 \
             lib/pkgconfig/collshim.pc share/modulefiles/collshim/$(VERSION)
FILL_IN := sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g'

install: all
	@mkdir -p $(sort $(dir $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%)))
	install -m 644 $(B)/libcollshim.so $(FAMILIES:%=$(B)/libcollshim-%.so) $(if $(NCCL),$(B)/libcollshim-nccl.so) \
	  $(DESTDIR)$(PREFIX)/lib
	$(if $(HELPER),install -m 755 $(HELPER) $(DESTDIR)$(PREFIX)/lib)
	install -m 755 $(B)/collshim $(FAMILIES:%=$(B)/collshim-bench-%) $(DESTDIR)$(PREFIX)/bin
	install -m 755 scripts/tune $(DESTDIR)$(PREFIX)/bin/collshim-tune
	$(if $(NCCL),install -m 755 scripts/tune-nccl $(DESTDIR)$(PREFIX)/bin/collshim-tune-nccl)
	scripts/manpage $(B)/collshim >$(DESTDIR)$(PREFIX)/share/man/man1/collshim.1
	$(FILL_IN) scripts/collshim.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/collshim.pc
	$(FILL_IN) scripts/modulefile.in >$(DESTDIR)$(PREFIX)/share/modulefiles/collshim/$(VERSION)

# What any build installs: what this one finds may be less than what was found then.
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(sort $(INSTALLED) lib/collshim-helper bin/collshim-tune-nccl \
	  $(foreach f,openmpi mpich nccl,lib/libcollshim-$(f).so) $(foreach f,openmpi mpich,bin/collshim-bench-$(f))))

# Style -----------------------------------------------------------------------------------------
C_FILES  = $(wildcard $(addsuffix /*.[ch],config planners planners/* transports scripts/* shim/* bench bench/* \
             test/* test/*/*))
# What begins as a shell's script, or is read by one.
SH_FILES = $(shell grep -rlE '^.!/.*sh$$|^. shellcheck shell=' .ci scripts bench test)
format:
	$(Q)clang-format -i $(C_FILES)
LINT     = $(wildcard config/*.c planners/*.c planners/*/*.c transports/engine.c transports/rounds*.c shim/cli/*.c shim/decide/*.c \
             $(filter-out shim/helper/nccl_%,$(wildcard shim/helper/*.c)))
# Where their headers are.
LINT_CUDA = $(strip $(if $(CUDA),$(wildcard transports/cuda_*.c)) \
              $(if $(NCCL),transports/nccl_run.c $(wildcard shim/nccl/*.c)))
LINT_FLAGS := -std=gnu11 -I. -DCOLLSHIM_VERSION='"x"'
lint:
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)shellcheck -x $(SH_FILES)
	$(Q)cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -I. -DCOLLSHIM_VERSION='"x"' \
	  --enable=warning,portability config planners transports shim
	$(Q)clang-tidy -quiet --warnings-as-errors='*' $(LINT) -- $(LINT_FLAGS)
	$(Q)$(if $(LINT_CUDA),clang-tidy -quiet --warnings-as-errors='*' $(LINT_CUDA) -- $(LINT_FLAGS) $(CUDA_CFLAGS) \
	  $(ARCH_CFLAGS) $(NCCL_CFLAGS))

clean:
	rm -rf $(B)

-include $(shell test -d $(B) && find $(B) -path $(B)/wheels -prune -o -name '*.d' -print)
.SECONDARY:
