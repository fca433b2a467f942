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
# V=1 prints the commands
V ?= 0

VERSION := 0.1.0
B       := build

# What there is -----------------------------------------------------------------------------
FAMILIES := $(foreach f,openmpi mpich,$(if $(shell command -v $(MPICC_$(f))),$(f)))

PRELOAD_SRC := $(wildcard shim/preload/*.c)
CORE_SRC    := $(wildcard config/*.c planners/*.c) $(filter-out transports/mpi_%,$(wildcard transports/*.c))
BACKEND_SRC := $(wildcard shim/mpi/*.c) transports/mpi_p2p.c
CLI_SRC     := $(wildcard shim/cli/*.c)
BENCH_SRC   := $(wildcard bench/*.c)
UNIT_SRC    := $(wildcard test/unit/*.c) shim/mpi/guard.c
LP_SRC      := $(wildcard test/lp/*.c) shim/cli/lp.c
GLPK        := $(shell printf '\043include <glpk.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes)
MPI_TESTS   := $(notdir $(basename $(wildcard test/mpi/*.c)))
FORTRAN_TESTS := $(notdir $(basename $(wildcard test/fortran/*.f90)))

TARGETS := $(B)/libcollshim.so $(B)/collshim $(FAMILIES:%=$(B)/libcollshim-%.so) \
           $(FAMILIES:%=$(B)/collshim-bench-%) $(FAMILIES:%=$(B)/collshim-overhead-%) \
           $(B)/test/bench_plan $(B)/test/bench_congestion $(B)/test/bench_balance

OWN_CFLAGS := -std=gnu11 -I. -MMD -MP -Wall -Wextra -Wshadow -Wstrict-prototypes \
              -ffp-contract=off -fvisibility=hidden -DCOLLSHIM_VERSION='"$(VERSION)"' \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
SHARED := -shared -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-4s %s\n' $(1) $@)

.DEFAULT_GOAL := all
.PHONY: all install uninstall test unit lint format bench clean help
all: $(TARGETS)

help:
	@printf '%s\n' 'make            build into $(B)/ (MPI families found: $(or $(FAMILIES),none))' \
	  'make install    into PREFIX=$(PREFIX)' 'make uninstall  remove what install put there' \
	  'make unit       build and run the unit tests' 'make grade      balancing against the exact linear program (needs GLPK)' 'make test       scripts/test' \
	  'make bench      the A/B suite on the emulated cluster' 'make lint       clang-tidy, cppcheck, shellcheck, format' \
	  'make clean      remove $(B)/' 'Knobs: CFLAGS SANITIZE V MPICC_openmpi MPICC_mpich'

# The preload: libc and nothing else --------------------------------------------------------
$(B)/libcollshim.so: $(PRELOAD_SRC:%.c=$(B)/pic/%.o) shim/preload/exports.map
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) $(SHARED) -nostartfiles -Wl,--version-script=shim/preload/exports.map -o $@ $(filter %.o,$^) $(LDFLAGS)

# Backends, benches and test programs: one source, once per family ----------------------------
define family_rules
$(B)/$(1)/%.o: %.c
	$$(call say,CC)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) $$(if $$(filter bench/%,$$<),-Ibench) -fPIC -DCOLLSHIM_FAMILY='"$(1)"' -c -o $$@ $$<
$(B)/libcollshim-$(1).so: $$(BACKEND_SRC:%.c=$(B)/$(1)/%.o) $$(CORE_SRC:%.c=$(B)/pic/%.o)
	$$(call say,LINK)
	$$(Q)$(LINK_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) $$(SHARED) -o $$@ $$(filter %.o,$$^) -l:libyaml.a $$(LDFLAGS)
$(B)/collshim-bench-$(1): $$(BENCH_SRC:%.c=$(B)/$(1)/%.o)
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$(filter %.o,$$^) -ldl -lm $$(LDFLAGS)
$(B)/collshim-overhead-$(1): $(B)/$(1)/bench/overhead/overhead.o $$(filter-out %/main.o,$$(BENCH_SRC:%.c=$(B)/$(1)/%.o))
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$(filter %.o,$$^) -ldl -lm $$(LDFLAGS)
$(B)/$(1)/test/mpi/%: $(B)/$(1)/test/mpi/%.o
	$$(call say,LINK)
	$$(Q)$(MPICC_$(1)) $$(CFLAGS) $$(OWN_CFLAGS) -o $$@ $$< -ldl -lm -lpthread $$(LDFLAGS)
$(B)/$(1)/test/fortran/%: test/fortran/%.f90 $$(wildcard test/fortran/*.inc)
	$$(call say,FC)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(MPICC_$(1:%=%)) --version >/dev/null; mpif90.$(1) -O1 -g -J $$(@D) -o $$@ $$<
endef
$(foreach f,$(FAMILIES),$(eval $(call family_rules,$(f))))

# The command ---------------------------------------------------------------------------------
$(B)/collshim: $(CLI_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $^ -lyaml -lhwloc -ljansson -lm $(if $(GLPK),-lglpk) $(LDFLAGS)

$(B)/test/bench_plan: $(B)/pic/bench/planning/planning.o
$(B)/test/bench_balance: $(B)/pic/bench/balance/balance.o
$(B)/test/bench_congestion: $(B)/pic/bench/congestion/congestion.o
$(B)/test/bench_%: $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $^ -lyaml $(LDFLAGS)

$(B)/pic/shim/cli/lp.o: OWN_CFLAGS += $(if $(GLPK),-DCOLLSHIM_GLPK)

# The exact optimum that balancing is graded against, where GLPK is there.
$(B)/test/grade: $(LP_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $^ -lglpk -lyaml -lm $(LDFLAGS)

$(B)/pic/%.o: %.c
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -fPIC -c -o $@ $<

# Tests -----------------------------------------------------------------------------------------
TEST_PROGRAMS := $(foreach f,$(FAMILIES),$(MPI_TESTS:%=$(B)/$(f)/test/mpi/%) $(FORTRAN_TESTS:%=$(B)/$(f)/test/fortran/%))
.PHONY: test-programs
test-programs: $(TEST_PROGRAMS) $(B)/unit

$(B)/unit: $(UNIT_SRC:%.c=$(B)/pic/%.o) $(CORE_SRC:%.c=$(B)/pic/%.o)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_CFLAGS) -o $@ $^ $$(pkg-config --libs check) -lyaml -lm $(LDFLAGS)

unit: $(B)/unit
	$(Q)$(B)/unit

# The worst of the random cases, and all of them in build/test/grade.txt.
.PHONY: grade
ifeq ($(GLPK),yes)
grade: $(B)/test/grade
	$(Q)$< >$(B)/test/grade.txt; status=$$?; grep BAD $(B)/test/grade.txt; tail -n 2 $(B)/test/grade.txt; exit $$status
else
grade:
	@echo 'grade: skipped, GLPK (libglpk-dev) is not installed'
endif

test:
	scripts/test
bench: all
	bench/run

# Install ---------------------------------------------------------------------------------------
# DESTDIR is put in front for packagers. The backends lie beside the preload, which looks there.
INSTALLED := lib/libcollshim.so $(FAMILIES:%=lib/libcollshim-%.so) bin/collshim \
             $(FAMILIES:%=bin/collshim-bench-%) bin/collshim-tune share/man/man1/collshim.1 \
             lib/pkgconfig/collshim.pc share/modulefiles/collshim/$(VERSION)
FILL_IN := sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g'

install: all
	@mkdir -p $(sort $(dir $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%)))
	install -m 644 $(B)/libcollshim.so $(FAMILIES:%=$(B)/libcollshim-%.so) $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(B)/collshim $(FAMILIES:%=$(B)/collshim-bench-%) $(DESTDIR)$(PREFIX)/bin
	install -m 755 scripts/tune $(DESTDIR)$(PREFIX)/bin/collshim-tune
	scripts/manpage $(B)/collshim >$(DESTDIR)$(PREFIX)/share/man/man1/collshim.1
	$(FILL_IN) scripts/collshim.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/collshim.pc
	$(FILL_IN) scripts/modulefile.in >$(DESTDIR)$(PREFIX)/share/modulefiles/collshim/$(VERSION)

uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%)

# Style -----------------------------------------------------------------------------------------
C_FILES  := $(wildcard config/*.[ch] planners/*.[ch] transports/*.[ch] shim/*/*.[ch] bench/*.[ch] \
              bench/*/*.c test/unit/*.[ch] test/lp/*.[ch] test/mpi/*.c test/apps/*.c)
SH_FILES := $(wildcard scripts/setup scripts/manpage scripts/tune scripts/test scripts/demo scripts/fabric scripts/fabric.d/agent scripts/fabric.d/host scripts/fabric.d/rank \
              $(wildcard scripts/fabric.d/*.sh) .ci/run \
              bench/run test/*.sh test/*/*.sh)
format:
	clang-format -i $(C_FILES)
lint:
	clang-format --dry-run -Werror $(C_FILES)
	shellcheck -x $(SH_FILES)
	cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -I. -DCOLLSHIM_VERSION='"x"' \
	  --enable=warning,portability config planners transports/engine.c shim/preload shim/cli
	clang-tidy -quiet --warnings-as-errors='*' $(wildcard config/*.c planners/*.c transports/engine.c shim/cli/*.c) \
	  -- -std=gnu11 -I. -DCOLLSHIM_VERSION='"x"'

clean:
	rm -rf $(B)

-include $(shell test -d $(B) && find $(B) -name '*.d')
.SECONDARY:
