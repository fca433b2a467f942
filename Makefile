# SPDX-License-Identifier: BSD-3-Clause
# collshim. `make` builds everything this machine has the headers for; `make help` lists the rest.

# Knobs -------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
# Folders of packages. The command looks for LIBDIR in ../lib, ../lib64, and collshim/ in each.
LIBDIR        ?= $(PREFIX)/lib
PKGCONFIGDIR  ?= $(PREFIX)/lib/pkgconfig
MODULEDIR     ?= $(PREFIX)/share/modulefiles
MANDIR        ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
# The folder of a site's settings, read by every job
SITE_DIR ?= /etc/collshim
# Extra instrumentation, e.g. SANITIZE=address,undefined
SANITIZE ?=
# Compiler wrappers, one per MPI family. A family without its wrapper is left out.
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich   ?= mpicc.mpich
# The linkers of the backends. Open MPI's handles are addresses in its library; MPICH's are numbers, so
# a backend linked with no library serves every MPI of the MPICH ABI.
LINK_openmpi ?= $(MPICC_openmpi)
LINK_mpich   ?= $(CC)
# The standard ABI of MPI 5 has a header of our own, and a library that its programs are linked with (shim/abi).
MPICC_abi  := $(CC) -I. -Ishim/abi
LINK_abi   := $(CC)
# The CUDA toolkit. Without its headers there are no GPU parts; without nvcc there are no GPU kernels.
CUDA_HOME ?= /usr/local/cuda
# The folder of include/nccl.h. Without it (or CUDA) there is no NCCL backend; libnccl is found at run time.
NCCL_HOME ?= $(firstword $(patsubst %/include/nccl.h,%,$(wildcard $(CUDA_HOME)/include/nccl.h \
               /usr/include/nccl.h)) $(CUDA_HOME))
# GPUs with machine code in the kernels' image, and the PTX from which drivers compile for newer ones (it
# takes them seconds). CUDA 13 dropped Volta (70); CUDA 12.8 added Blackwell (100). 80 runs on 86 and 89
# too, 100 on 103.
CUDA_ARCHS ?= $(or $(filter 70 75 80 90 100,$(NVCC_ARCHS)),75 80 90)
CUDA_PTX   ?= 90
# CUDA 12: unsupported, or unreadable before driver 12.4.
COMPRESS    = $(if $(filter 70,$(NVCC_ARCHS)),,--compress-mode=size)
# V=1 prints the commands
V ?= 0

VERSION := 0.1.0
B       := build

# This machine ------------------------------------------------------------------------------
# $(call macros,COMPILER,HEADERS): one number for all macros the headers define; empty if one is missing
macros = $(shell text=$$($(1) -E -dM $(2:%=-include %) -x c /dev/null 2>/dev/null) && \
           printf %s "$$text" | cksum | tr ' ' -)
CUDA := $(if $(wildcard $(CUDA_HOME)/include/cudaTypedefs.h),yes)
NCCL := $(if $(CUDA),$(if $(wildcard $(NCCL_HOME)/include/nccl.h),yes))
NVCC := $(if $(CUDA),$(wildcard $(CUDA_HOME)/bin/nvcc))
NVCC_ARCHS := $(if $(NVCC),$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
# Helpers (COLLSHIM_PPG) need UCX's headers or NCCL; both libraries are found at run time.
UCX  := $(call macros,$(CC),ucp/api/ucp.h)
GLPK := $(call macros,$(CC),glpk.h)
# Slurm's plugin
SPANK := $(call macros,$(CC),slurm/spank.h)
# Call sites: libunwind is found at run time too; the command reads debug information with libdw.
UNWIND := $(call macros,$(CC),libunwind.h)
DW     := $(call macros,$(CC),elfutils/libdwfl.h)
MPI_openmpi := $(call macros,$(MPICC_openmpi),mpi.h)
MPI_mpich   := $(call macros,$(MPICC_mpich),mpi.h)
MPI_abi     := $(call macros,$(MPICC_abi),mpi.h)
FAMILIES := $(foreach f,openmpi mpich abi,$(if $(MPI_$(f)),$(f)))
FORTRAN  := $(filter-out abi,$(FAMILIES))
# Families of MPI 4 and later: their Fortran bindings have persistent collectives.
PERSISTENT := $(foreach f,$(FORTRAN),$(if \
                 $(shell $(MPICC_$(f)) -E -dM -include mpi.h -x c /dev/null 2>/dev/null | grep 'define MPI_VERSION [4-9]'),$(f)))
LIBMPI_abi := $(B)/linkable/libmpi_abi.so.1

# Objects -----------------------------------------------------------------------------------
# $(call pic,SOURCES), $(call of,FAMILY,SOURCES): their objects
pic = $(patsubst %,$(B)/pic/%.o,$(basename $(1)))
of  = $(patsubst %,$(B)/$(1)/%.o,$(basename $(2)))

# A rank's side of its helpers: shim/helper/ for backends.
HELPERS_SRC  := $(addprefix shim/helper/,helpers.c environment.c silence.c spawn.c command.c mailbox.c)
MPI_SRC   := $(wildcard shim/mpi/*/*.c) $(HELPERS_SRC) transports/net/mpi_p2p.c
BENCH_SRC := $(wildcard bench/*.c) config/base/json.c config/base/text.c
CORE_SRC  := $(wildcard config/*/*.c planners/*/*.c planners/*/*/*.c $(addprefix transports/,base/*.c engine/*.c shm/*.c))
CUDA_SRC  := $(if $(CUDA),$(filter-out %/cuda_absent.c,$(wildcard transports/cuda/*.[cS])),transports/cuda/cuda_absent.c)

CORE      := $(call pic,$(CORE_SRC))
DECIDE    := $(call pic,$(wildcard shim/decide/*/*.c shim/record/*/*.c))
HELPERS_PIC      := $(call pic,$(HELPERS_SRC))
CUDA_OBJ  := $(call pic,$(CUDA_SRC))
# Only the command and the MPI backends describe GPUs.
CUDA_RUN  := $(filter-out %/cuda_describe.o,$(CUDA_OBJ))
NCCL_OBJ  := $(call pic,$(wildcard shim/nccl/*/*.c transports/net/nccl_*.c))
HELPER_OBJ := $(call pic,$(addprefix shim/helper/,main.c mailbox.c) config/base/cpulist.c config/base/near.c \
               $(if $(UCX),$(addprefix shim/helper/,mpi_work.c channel.c owner_device.c nameless.c) \
                 $(addprefix transports/,net/ucx.c engine/engine.c engine/engine_move.c engine/sink.c base/kernels.c base/host_memory.c) \
                 planners/plan/plan.c planners/plan/flat.c) \
               $(if $(NCCL),$(wildcard shim/helper/nccl_*.c) transports/net/nccl_run.c))
UNIT_OBJ  := $(call pic,$(wildcard test/unit/*.c))
SIM_OBJ       := $(call pic,$(wildcard test/gpusim/*.c test/gpusim/*.cpp))
NCCL_SIM_OBJ  := $(call pic,$(wildcard test/ncclsim/*.c test/ncclsim/*.cpp))
NCCL_TEST_OBJ := $(call pic,$(wildcard test/nccl/*.c))
COLLABORATIVE_OBJ := $(call pic,$(wildcard bench/collaborative/*.c))
# For machines with a GPU, a compiler and the CUDA toolkit, and perhaps no libyaml.
NO_YAML       := $(call pic,test/gpu/no_yaml.c)
GPU_CORE_OBJ  := $(filter-out %/yaml.o,$(CORE)) $(NO_YAML) $(CUDA_RUN)
GPU_TEST_OBJ  := $(filter-out $(NO_YAML),$(call pic,$(wildcard test/gpu/*.c)))
OVERHEAD      := $(B)/pic/bench/overhead

# Objects with CUDA's headers, and with NCCL's as well.
WITH_CUDA_H := $(CUDA_OBJ) $(SIM_OBJ) $(GPU_TEST_OBJ) $(NO_YAML) $(COLLABORATIVE_OBJ)
WITH_NCCL_H := $(NCCL_OBJ) $(NCCL_SIM_OBJ) $(NCCL_TEST_OBJ) $(patsubst %,$(OVERHEAD)/%.o,nccl enqueue null_nccl) \
               $(call pic,$(wildcard shim/helper/nccl_*.c) test/nccl/caught/caught.c test/nccl/board/board.c test/nccl/hang/hang.c)

# Targets -----------------------------------------------------------------------------------
HELPER  := $(if $(UCX)$(NCCL),$(B)/collshim-helper)
TARGETS := $(B)/libcollshim.so $(B)/libnccl-tuner-collshim.so $(B)/collshim $(B)/collshim-exec $(HELPER) $(FAMILIES:%=$(B)/libcollshim-%.so) \
           $(if $(SPANK),$(B)/collshim-spank.so) \
           $(if $(NCCL),$(addprefix $(B)/,libcollshim-nccl.so collshim-overhead-nccl collshim-enqueue-nccl)) \
           $(FAMILIES:%=$(B)/collshim-bench-%) $(FAMILIES:%=$(B)/collshim-overhead-%) $(FAMILIES:%=$(B)/collshim-overlap-%) \
           $(FAMILIES:%=$(B)/collshim-forms-%) $(FAMILIES:%=$(B)/collshim-never-%) \
           $(addprefix $(B)/test/,bench_plan bench_choices bench_congestion bench_balance bench_regret)
GPU_TESTS := $(if $(CUDA),$(B)/test/gpu_contract $(B)/test/bench_collaborative)
NCCL_CAUGHT := $(addprefix $(B)/test/,nccl_caught nccl_linked nccl_static nccl_board nccl_hang)
MPI_TESTS := $(foreach f,$(FAMILIES),$(patsubst %.c,$(B)/$(f)/%,$(wildcard test/mpi/*.c))) \
             $(foreach f,$(FORTRAN),$(patsubst %.f90,$(B)/$(f)/%,$(filter-out \
               $(if $(filter $(f),$(PERSISTENT)),,test/fortran/persistent_%),$(wildcard test/fortran/*.f90))))

.DEFAULT_GOAL := all
.PHONY: all install uninstall test test-programs test-stuck test-page test-gpu sanitize fuzz fuzz-mpi sanitize-mpi soak coverage unit choices grade lint format bench site clean help different
all: $(TARGETS)
test-programs: $(MPI_TESTS) $(B)/unit $(HELPER) $(GPU_TESTS) \
               $(B)/test/fuzz $(B)/test/yield.so $(B)/test/cores.so $(B)/test/trace.so $(addprefix $(B)/test/,plugin_cases plugin_real) $(if $(CUDA),$(B)/gpusim/libcuda.so.1 $(B)/gpusim/libnvidia-ml.so.1) \
               $(if $(NCCL),$(B)/test/nccl_ranks $(B)/test/far_board.so $(NCCL_CAUGHT))

help:
	@printf '%s\n' 'make            build into $(B)/ (MPI families found: $(or $(FAMILIES),none))' \
	  'make install    into PREFIX=$(PREFIX), behind DESTDIR' \
	  'make uninstall  remove what install put there' \
	  'make test       scripts/test: all that needs no GPU' \
	  'make unit       build and run the unit tests' \
	  'make test-stuck jobs that hang: 200 drawn at random' \
	  'make grade      balancing against the exact linear program (needs GLPK)' \
	  'make test-page  the pages of report --html and site --html, in Chromium' \
	  'make test-programs  build what the other suites run' \
	  'make test-gpu   the GPU contract and NCCL on this machine'"'"'s device, with rates' \
	  'make sanitize   the GPU contract on the simulated driver, under sanitizers' \
	  'make fuzz       inputs made for every parser, SECONDS=60 each, by clang; ONLY=TARGET,... for some' \
	  'make fuzz-mpi   random MPI programs with collshim and without, PROGRAMS=100 from SEED=1 on' \
	  'make sanitize-mpi  the MPI suites with backends and helpers under sanitizers' \
	  'make soak       does a long job keep more and more? a million calls, 100,000 communicators' \
	  'make coverage   which lines of the product the tests run (needs gcovr)' \
	  'make bench      the A/B suite on the emulated cluster' \
  'make faults     each allocation, descriptor, thread and file call of collshim fails, a job for each' \
	  'make site       the manual as web pages in $(B)/site (needs pandoc)' \
	  'make lint       clang-tidy, cppcheck, shellcheck, spelling, wording, format, order of folders' \
	  'make format     apply the format' \
	  'make clean      remove $(B)/' \
	  'Knobs, each with a comment at the top of the Makefile: CFLAGS LIBDIR SITE_DIR SANITIZE V MPICC_openmpi MPICC_mpich' \
	  'LINK_openmpi LINK_mpich CUDA_HOME NCCL_HOME CUDA_ARCHS CUDA_PTX'

# Compiling ---------------------------------------------------------------------------------
SANITIZER  := $(if $(SANITIZE),-fsanitize=$(SANITIZE))
OWN_CFLAGS := -std=gnu11 -I. -MMD -MP -Wall -Wextra -Wshadow -Wstrict-prototypes \
              -ffp-contract=off -fvisibility=hidden -DCOLLSHIM_VERSION='"$(VERSION)"' \
              -DCOLLSHIM_SITE_DIR='"$(SITE_DIR)"' \
              $(SANITIZER) $(if $(SANITIZE),-fno-omit-frame-pointer)
OWN_CXXFLAGS := -std=c++17 -fno-exceptions -fno-rtti -I. -MMD -MP -fPIC -fvisibility=hidden $(SANITIZER)
CUDA_CFLAGS := -isystem $(CUDA_HOME)/include
NCCL_CFLAGS := $(CUDA_CFLAGS) -isystem $(NCCL_HOME)/include
ARCH_CFLAGS := -DCOLLSHIM_CUDA_ARCHS='"$(CUDA_ARCHS:%=sm_%) and newer"'

$(WITH_CUDA_H): HEADER_CFLAGS := $(CUDA_CFLAGS)
$(WITH_NCCL_H): HEADER_CFLAGS := $(NCCL_CFLAGS)
$(call pic,transports/cuda/cuda_reduce.c): OWN_CFLAGS += $(ARCH_CFLAGS)
# Lengths travel through these folders: what narrows one says so, by a cast with its reason.
$(foreach d,pic $(FAMILIES),$(addprefix $(B)/$(d)/,planners/%.o transports/%.o)): OWN_CFLAGS += -Wconversion -Wno-sign-conversion
$(call pic,shim/cli/plan/lp.c): OWN_CFLAGS += $(if $(GLPK),-DCOLLSHIM_GLPK)
$(call pic,shim/cli/report/lines.c): OWN_CFLAGS += $(if $(DW),-DCOLLSHIM_LIBDW)
$(call pic,shim/record/sites/walk.c): OWN_CFLAGS += $(if $(UNWIND),-DCOLLSHIM_LIBUNWIND)
$(call pic,shim/helper/main.c): OWN_CFLAGS += $(if $(UCX),-DHELPER_MPI=1) $(if $(NCCL),-DHELPER_NCCL=1)
# Balancing is planned inside the call that waits for it.
$(B)/pic/planners/algorithms/nimble/%.o: override CFLAGS := $(CFLAGS:-O2=-O3)
$(SIM_OBJ): OWN_CXXFLAGS += -O1

# The first line of a recipe: $(call say,WORD)
say = @mkdir -p $(@D)$(if $(filter 1,$(V)),, && printf '  %-4s %s\n' $(1) $@)
Q  := $(if $(filter 1,$(V)),,@)

$(B)/pic/%.o: %.c $(B)/found/cc
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) $(HEADER_CFLAGS) -fPIC -c -o $@ $<
$(B)/pic/%.o: %.cpp $(B)/found/cc
	$(call say,CXX)
	$(Q)$(CXX) $(CFLAGS) $(OWN_CXXFLAGS) $(HEADER_CFLAGS) -c -o $@ $<
$(B)/pic/%.o: %.S $(B)/found/cc
	$(call say,AS)
	$(Q)$(CC) -I. $(OWN_ASFLAGS) -c -o $@ $<

# The kernels' image is part of the backends. A build without nvcc takes the image that is there.
IMAGE   := $(B)/cuda_kernels.fatbin
KERNELS := $(if $(NVCC),$(IMAGE),$(wildcard $(IMAGE)))
GENCODE  = $(foreach a,$(CUDA_ARCHS),-gencode=arch=compute_$(a),code=sm_$(a)) \
           -gencode=arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
ifneq ($(NVCC),)
$(IMAGE): transports/cuda/cuda_kernels.cu transports/cuda/cuda_reduce.def transports/cuda/cuda_reduce_args.h $(B)/found/kernels
	$(call say,NVCC)
	$(Q)$(NVCC) -std=c++17 -O3 -I. -t 2 $(COMPRESS) -fatbin -o $@ $< $(GENCODE)
endif
$(B)/pic/transports/cuda/cuda_image.o: OWN_ASFLAGS := $(if $(KERNELS),-DCUDA_IMAGE='"$(IMAGE)"')
$(B)/pic/transports/cuda/cuda_image.o: $(KERNELS)
$(B)/pic/shim/preload/jumps.o: transports/net/nccl_calls.def
$(B)/pic/shim/cli/page/page_template.o: shim/cli/page/page.html

# Linking -----------------------------------------------------------------------------------
comma  := ,
SHARED := -shared -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL
# Memory for the preload and the backends comes from shim/preload/reserve.c where the system refuses it.
RESERVED := $(SHARED) $(foreach f,malloc calloc realloc aligned_alloc strdup strndup free,-Wl,--wrap=$(f))
RESERVE  := $(call pic,shim/preload/reserve.c)
inputs  = $(filter-out $(B)/found/% %.def %.map %.h %.inc,$^)

# $(call program,FILE,INPUTS[,LIBRARIES[,FLAGS[,LINKER]]]): FILE in $(B)/ is linked from INPUTS
program = $(eval $(call program_rule,$(1),$(2),$(3),$(4),$(or $(5),$$(CC))))
define program_rule
$(B)/$(1): $(2) $(B)/found/link $(B)/found/$(1)
	$$(call say,LINK)
	$$(Q)$(5) $$(CFLAGS) $$(OWN_CFLAGS) $(4) -o $$@ $$(inputs) $(3) $$(LDFLAGS)
FOUND += $(1)
FOUND_$(1) := $(2) $(3)
endef
# $(call stand_in,FILE,INPUTS[,LIBRARIES]): a library with the name of another, for LD_LIBRARY_PATH; never installed
stand_in = $(call program,$(1),$(2),$(3),-shared -Wl$(comma)-z$(comma)now -Wl$(comma)-soname$(comma)$(notdir $(1)))

# The preload: libc and nothing else.
PRELOAD_FLAGS := $(RESERVED) -nostartfiles -Wl,--version-script=shim/preload/exports.map
$(call program,libcollshim.so,$(call pic,$(wildcard shim/preload/*.[cS])),,$(PRELOAD_FLAGS))
$(B)/libcollshim.so: shim/preload/exports.map

# Backends, benches and test programs: one source, compiled once per family.
define family_rules
$(call program,libcollshim-$(1).so,$(call of,$(1),$(MPI_SRC)) $(DECIDE) $(CORE) $(CUDA_OBJ) $(RESERVE),-l:libyaml.a,$(RESERVED),$(LINK_$(1)))
$(call program,collshim-bench-$(1),$(call of,$(1),$(BENCH_SRC)) $(LIBMPI_$(1)),-ldl -lm,,$(MPICC_$(1)))
$(call program,collshim-overhead-$(1),$(call of,$(1),bench/overhead/overhead.c \
  $(filter-out %/main.c,$(BENCH_SRC))) $(LIBMPI_$(1)),-ldl -lm,,$(MPICC_$(1)))
$(call program,collshim-overlap-$(1),$(call of,$(1),bench/nonblocking/overlap.c \
  $(filter-out %/main.c,$(BENCH_SRC))) $(LIBMPI_$(1)),-ldl -lm,,$(MPICC_$(1)))
$(call program,collshim-forms-$(1),$(call of,$(1),bench/nonblocking/forms.c \
  $(filter-out %/main.c,$(BENCH_SRC))) $(LIBMPI_$(1)),-ldl -lm,,$(MPICC_$(1)))
$(call program,collshim-never-$(1),$(call of,$(1),bench/never/job.c) $(LIBMPI_$(1)),-lm,,$(MPICC_$(1)))
$(B)/$(1)/%.o: %.c $(B)/found/$(1)
	$$(call say,CC)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) $$(if $$(filter bench/%,$$<),-Ibench) -fPIC \
	  -DCOLLSHIM_FAMILY='"$(1)"' -c -o $$@ $$<
$(B)/$(1)/test/mpi/%: $(B)/$(1)/test/mpi/%.o $(B)/found/link $(LIBMPI_$(1))
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$< $(LIBMPI_$(1)) -ldl -lm -lpthread $$(LDFLAGS)
$(B)/$(1)/test/fortran/%: test/fortran/%.f90 $(wildcard test/fortran/*.inc) $(B)/found/$(1)
	$$(call say,FC)
	$$(Q)mpif90.$(1) -O1 -g -J $$(@D) -o $$@ $$<
endef
$(foreach f,$(FAMILIES),$(eval $(call family_rules,$(f))))
$(call stand_in,linkable/libmpi_abi.so.1,$(call pic,shim/abi/linkable.c))

$(call program,libcollshim-nccl.so,$(NCCL_OBJ) $(HELPERS_PIC) $(DECIDE) $(CORE) $(CUDA_RUN) $(RESERVE),\
  -l:libyaml.a -ldl -lm -lpthread,$(RESERVED))
# NCCL's tuner and profiler. NCCL may close it and open it again: it stays, with what it has counted.
$(call program,libnccl-tuner-collshim.so,$(call pic,$(wildcard shim/nccl_plugin/*.c)) $(DECIDE) $(CORE),\
  -l:libyaml.a -ldl -lm -lpthread,$(SHARED) -Wl$(comma)-z$(comma)nodelete)
# Its undefined symbols are those of srun, sbatch and slurmstepd.
$(call program,collshim-spank.so,$(call pic,shim/slurm/spank.c config/base/preload_list.c config/base/text.c),,-shared -Wl$(comma)-z$(comma)now)
# A process of its own that works for a rank; no part of it is linked into an application.
$(call program,collshim-helper,$(HELPER_OBJ) $(CUDA_RUN),-ldl -lpthread,-rdynamic)
# Behind launchers and in containers: libc alone.
$(call program,collshim-exec,$(call pic,shim/exec/main.c $(addprefix shim/cli/,install/exec.c cli.c install/preload_path.c)) \
  $(call pic,$(wildcard config/*/*.c)),-l:libyaml.a)
$(call program,collshim,$(call pic,$(wildcard shim/cli/*.c shim/cli/*/*.[cS]) $(addprefix shim/,decide/base/reasons.c record/counts/live_layout.c record/roll/roll_names.c record/report/rail_report.c)) $(CORE) $(CUDA_OBJ),\
  -lyaml -lhwloc -ljansson -lm $(if $(GLPK),-lglpk) $(if $(DW),-ldw))

# Benches of parts, most of them simulated.
$(call program,test/bench_plan,$(call pic,bench/planning/planning.c) $(CORE),-lyaml)
$(call program,test/bench_choices,$(call pic,bench/planning/choices.c) $(CORE),-lyaml -lm)
$(call program,test/bench_balance,$(call pic,bench/balance/balance.c) $(CORE),-lyaml)
$(call program,test/bench_congestion,$(call pic,bench/congestion/congestion.c) $(CORE),-lyaml)
$(call program,test/bench_regret,$(call pic,$(filter-out %/record.c %/job.c,$(wildcard bench/regret/*.c))) $(DECIDE) $(CORE),-lyaml -lm)
$(call program,test/bench_collaborative,$(COLLABORATIVE_OBJ) $(GPU_CORE_OBJ),-ldl -lm -lpthread)
# The cost of an intercepted NCCL call, beside an NCCL and a driver that do nothing.
$(call stand_in,nullnccl/libnccl.so.2,$(OVERHEAD)/null_nccl.o)
$(call stand_in,nullnccl/libcuda.so.1,$(OVERHEAD)/null_cuda.o)
$(call program,collshim-overhead-nccl,$(OVERHEAD)/nccl.o $(B)/nullnccl/libnccl.so.2,-ldl -lpthread)
$(call program,collshim-enqueue-nccl,$(OVERHEAD)/enqueue.o $(B)/nullnccl/libnccl.so.2,-ldl -lpthread)
$(B)/collshim-enqueue-nccl: | $(B)/nullnccl/libcuda.so.1

# The transport over MPI runs there without MPI, on a table of functions.
$(call pic,test/unit/test_lengths.c transports/net/mpi_p2p.c): OWN_CFLAGS += -Ishim/abi
$(call program,unit,$(UNIT_OBJ) $(call pic,transports/net/mpi_p2p.c shim/cli/gate/gate_stat.c shim/cli/stuck/verdict.c) $(HELPERS_PIC) $(DECIDE) $(CORE),$$$$(pkg-config --libs check) -lyaml -lm)
# Inputs for every parser: those that are kept, or new ones if SANITIZE has libFuzzer. Some files include a source,
# for what is static in it.
FUZZER   := $(findstring fuzzer,$(SANITIZE))
FUZZ_SRC := $(filter-out $(if $(FUZZER),%/replay.c,%/libfuzzer.c) $(if $(NCCL),,%/board.c) $(if $(SPANK),,%/spank.c),$(wildcard test/fuzz/*.c))
FUZZ_OBJ := $(call pic,$(FUZZ_SRC))
$(FUZZ_OBJ): OWN_CFLAGS += $(if $(NCCL),-DFUZZ_NCCL $(NCCL_CFLAGS)) $(if $(SPANK),-DFUZZ_SPANK)
$(call program,test/fuzz,$(FUZZ_OBJ) $(call pic,$(filter-out shim/cli/main.c %/top_read.c,$(wildcard shim/cli/*.c shim/cli/*/*.[cS])) \
  shim/helper/mailbox.c $(if $(NCCL),shim/nccl/board/notice.c)) $(DECIDE) $(CORE) $(CUDA_OBJ),\
  -lyaml -lhwloc -ljansson -lm -lpthread $(if $(GLPK),-lglpk) $(if $(DW),-ldw),$(if $(FUZZER),-fsanitize=fuzzer))
# The exact optimum that balancing is graded against.
$(call program,test/grade,$(call pic,$(wildcard test/lp/*.c) shim/cli/plan/lp.c) $(CORE),-lglpk -lyaml -lm)
# Preloaded by tests: ranks of MPICH that yield their core, the cores that helpers are bound to, faults, a tracer.
$(call program,test/yield.so,test/mpi/tool/yield.c,-ldl,-fPIC -shared)
$(call program,test/cores.so,test/mpi/tool/cores.c,-ldl,-fPIC -shared)
$(call program,test/faults.so,test/faults/faults.c,-ldl,-fPIC -shared)
test-programs: $(B)/test/faults.so
$(call program,test/trace.so,test/ways/trace.c,-lpthread,-fPIC -shared)
$(call program,test/far_board.so,test/nccl/tool/far_board.c,-ldl,-fPIC -shared)
# The simulated driver, its NVML (which describes NVLinks), and an NCCL that runs on it.
$(call stand_in,gpusim/libcuda.so.1,$(SIM_OBJ),-lpthread)
$(call stand_in,gpusim/libnvidia-ml.so.1,$(call pic,test/nvmlsim/nvml.c))
$(call stand_in,ncclsim/libnccl.so.2,$(NCCL_SIM_OBJ) $(call pic,transports/cuda/cuda_driver.c),-ldl -lpthread)
$(call program,test/gpu_contract,$(GPU_TEST_OBJ) $(GPU_CORE_OBJ),-ldl -lm -lpthread)
# They play NCCL's part for its plugin.
$(call program,test/plugin_cases,$(call pic,$(addprefix test/nccl_plugin/,cases.c player.c)),-ldl -lpthread)
$(call program,test/plugin_real,$(call pic,$(addprefix test/nccl_plugin/,real.c player.c)),-ldl)
# Linked with the stand-in, which has the real library's symbols; the loader picks the one to run with.
$(call program,test/nccl_ranks,$(NCCL_TEST_OBJ) $(call pic,transports/cuda/cuda_driver.c) \
  $(B)/ncclsim/libnccl.so.2,-ldl -lm -lpthread)
# A job that hangs.
$(call program,test/nccl_hang,$(call pic,test/nccl/hang/hang.c transports/cuda/cuda_driver.c) \
  $(B)/ncclsim/libnccl.so.2,-ldl -lpthread)
# The notice board, alone.
$(call program,test/nccl_board,$(call pic,test/nccl/board/board.c $(wildcard shim/nccl/board/*.c)),-lpthread)
# One program with NCCL opened at run time, linked, and linked statically.
$(call program,test/nccl_caught,$(call pic,test/nccl/caught/caught.c),-ldl)
$(call program,test/nccl_linked,test/nccl/caught/caught.c $(B)/ncclsim/libnccl.so.2,\
  -ldl -lpthread,$(NCCL_CFLAGS) -DLINKED)
$(call program,test/nccl_static,test/nccl/caught/caught.c $(NCCL_SIM_OBJ) $(call pic,transports/cuda/cuda_driver.c),\
  -ldl -lpthread,$(NCCL_CFLAGS) -DLINKED)

include scripts/found.mk

# Tests -------------------------------------------------------------------------------------
test:
	scripts/test
bench: all
	bench/run
# Each call of ours on the system fails once, under each MPI.
.PHONY: faults
faults: all test-programs
	test/faults/run.sh $(B)
unit: $(B)/unit
	@$<
# Is the rank named that makes others wait? Trials, as a table.
waits: all test-programs
	bench/waits
# Inputs for every parser: all that are kept, or made for a minute each, by clang's libFuzzer.
fuzz:
	@test/fuzz/run.sh --seconds $(if $(filter command line,$(origin SECONDS)),$(SECONDS),60) $(if $(ONLY),--only $(ONLY)) $(B)
# Random MPI programs with collshim and without; the MPI suites under sanitizers.
fuzz-mpi: all test-programs
	@test/fuzz/programs.sh --programs $(or $(PROGRAMS),100) --seed $(or $(SEED),1) $(B)
sanitize-mpi: all test-programs
	@test/mpi/sanitize.sh --kind address $(B)
	@test/mpi/sanitize.sh --kind thread --only results,nonblocking $(B)
# How good the choice of algorithms is by the model.
choices: $(B)/test/bench_choices
	@$<
# Prints the worst of the random cases; build/test/grade.txt has them all.
ifneq ($(GLPK),)
grade: $(B)/test/grade
	@$< >$<.txt; status=$$?; grep BAD $<.txt; tail -n 2 $<.txt; exit $$status
else
grade:
	@echo 'skipped: GLPK (libglpk-dev) is not installed'; exit 77
endif
# Jobs that hang, drawn at random: minutes.
test-stuck: all $(foreach f,$(FORTRAN),$(B)/$(f)/test/mpi/hang)
	@scripts/private-shm test/stuck/trials --trials 200 --most 64 --after 4 --slow 250000 $(B)
# Pages, in a browser without a window.
test-page: $(B)/collshim
	@test/page/run.sh $(B)
# On this machine's own GPU. Elsewhere test/gpu/device.sh runs this build; it needs the driver alone.
test-gpu: $(GPU_TESTS) $(if $(NCCL),$(addprefix $(B)/,libcollshim.so libcollshim-nccl.so libnccl-tuner-collshim.so) $(HELPER) $(B)/test/nccl_ranks)
	@test/gpu/device.sh $(B)
# The simulated driver and its programs, under sanitizers.
sanitize: $(if $(NVCC),$(IMAGE))
	@test/gpu/sanitize.sh $(B)

soak: test-programs all
	@test/mpi/soak.sh $(B)
coverage:
	@test/coverage.sh $(B)/coverage

# Install -----------------------------------------------------------------------------------
# DESTDIR goes in front, for packagers. The preload looks for backends beside itself, and they for the helper.
# Pages: one for each row of the table in main.c, for each program, and collshim(7) for the preload.
LIBRARIES := libcollshim.so libnccl-tuner-collshim.so $(FAMILIES:%=libcollshim-%.so) $(if $(NCCL),libcollshim-nccl.so) $(if $(SPANK),collshim-spank.so)
# No bench for the standard ABI: packages would depend on a library of it.
PROGRAMS  := collshim collshim-exec $(FORTRAN:%=collshim-bench-%)
SCRIPTS   := tune $(if $(NCCL),tune-nccl)
COMMANDS  := $(shell sed -nE 's/^    \{"([a-z]+)", ".*/\1/p' shim/cli/main.c)
$(if $(COMMANDS),,$(error shim/cli/main.c: no subcommand is found in its table, for the manual pages))
MAN1      := collshim $(COMMANDS:%=collshim-%) $(SCRIPTS:%=collshim-%) \
             $(FORTRAN:%=collshim-bench-%)
FILL_IN   := sed $(if $(filter /usr,$(PREFIX)),-e '/@PREFIX@.bin.\?.\?$$/d') -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
             -e 's|@VERSION@|$(VERSION)|g'
# NCCL makes libnccl-profiler-NAME.so of NCCL_PROFILER_PLUGIN=NAME.
PROFILER  := libnccl-profiler-collshim.so
INSTALLED  = $(addprefix $(LIBDIR)/,$(LIBRARIES) $(PROFILER) $(notdir $(HELPER))) $(addprefix $(PREFIX)/bin/,$(PROGRAMS) $(SCRIPTS:%=collshim-%)) \
             $(MAN1:%=$(MANDIR)/man1/%.1) $(MANDIR)/man7/collshim.7 $(addprefix $(COMPLETIONDIR)/,collshim collshim-exec) \
             $(PKGCONFIGDIR)/collshim.pc $(MODULEDIR)/collshim/$(VERSION) $(MODULEDIR)/collshim/$(VERSION).lua

install: all
	@mkdir -p $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 644 $(LIBRARIES:%=$(B)/%) $(DESTDIR)$(LIBDIR)
	ln -sf libnccl-tuner-collshim.so $(DESTDIR)$(LIBDIR)/$(PROFILER)
	$(if $(HELPER),install -m 755 $(HELPER) $(DESTDIR)$(LIBDIR))
	install -m 755 $(PROGRAMS:%=$(B)/%) $(DESTDIR)$(PREFIX)/bin
	$(foreach s,$(SCRIPTS),install -m 755 scripts/$(s) $(DESTDIR)$(PREFIX)/bin/collshim-$(s) &&) :
	set -e; for page in $(MAN1:%=%.1); do scripts/manpage $(B)/collshim $$page >$(DESTDIR)$(MANDIR)/man1/$$page; done
	scripts/manpage $(B)/collshim collshim.7 >$(DESTDIR)$(MANDIR)/man7/collshim.7
	scripts/completion $(B)/collshim >$(DESTDIR)$(COMPLETIONDIR)/collshim
	ln -sf collshim $(DESTDIR)$(COMPLETIONDIR)/collshim-exec
	$(FILL_IN) scripts/collshim.pc.in >$(DESTDIR)$(PKGCONFIGDIR)/collshim.pc
	$(FILL_IN) scripts/modulefile.in >$(DESTDIR)$(MODULEDIR)/collshim/$(VERSION)
	$(FILL_IN) scripts/modulefile.lua.in >$(DESTDIR)$(MODULEDIR)/collshim/$(VERSION).lua

# All that any build installs: the one that installed may have found more than this one.
uninstall:
	rm -f $(addprefix $(DESTDIR),$(sort $(INSTALLED) $(addprefix $(LIBDIR)/,collshim-helper collshim-spank.so \
	  $(foreach f,openmpi mpich abi nccl,libcollshim-$(f).so)) \
	  $(foreach p,tune-nccl bench-openmpi bench-mpich,$(PREFIX)/bin/collshim-$(p) $(MANDIR)/man1/collshim-$(p).1)))

# The manual as web pages -------------------------------------------------------------------
site:
	@scripts/site $(B)/site

# Style -------------------------------------------------------------------------------------
C_FILES  = $(wildcard $(addsuffix /*.[ch],config/* planners/* planners/*/* transports/* scripts/* shim/* shim/*/* bench bench/* \
             test/* test/*/* docs/examples))
# Shell scripts, and files that they read.
SH_FILES = $(shell grep -rlE '^.!/.*sh$$|^. shellcheck shell=' .ci scripts bench test packaging)
LINT     = $(wildcard config/*/*.c planners/*/*.c planners/*/*/*.c transports/engine/engine.c shim/cli/*.c shim/cli/*/*.c shim/decide/*/*.c shim/record/*/*.c shim/nccl_plugin/*.c \
             $(filter-out shim/helper/nccl_%,$(wildcard shim/helper/*.c)))
LINT_CUDA = $(strip $(if $(CUDA),$(wildcard transports/cuda/*.c)) \
              $(if $(NCCL),transports/net/nccl_run.c $(wildcard shim/nccl/*/*.c)))
LINT_FLAGS := -std=gnu11 -I. -DCOLLSHIM_VERSION='"x"'
lint:
	@clang-format --dry-run -Werror $(C_FILES)
	@shellcheck -x $(SH_FILES)
# Words that the dictionary of errors has and this tree means stand in words.txt.
	@codespell -q 3 -I scripts/words.txt --skip './$(B),./.git,./test/fuzz/corpus,*.png,*.svg,./scripts/words.txt' .
	@scripts/prose
	@scripts/check-order
	@cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -I. -DCOLLSHIM_VERSION='"x"' \
	  --enable=warning,portability config planners transports shim
	@clang-tidy -quiet --warnings-as-errors='*' $(LINT) -- $(LINT_FLAGS)
	@$(if $(LINT_CUDA),clang-tidy -quiet --warnings-as-errors='*' $(LINT_CUDA) -- $(LINT_FLAGS) $(NCCL_CFLAGS) $(ARCH_CFLAGS))
format:
	@clang-format -i $(C_FILES)

clean:
	rm -rf $(B)

-include $(shell test -d $(B) && find $(B) -path $(B)/wheels -prune -o -type f -name '*.d' -print)
.SECONDARY:
