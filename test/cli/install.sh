#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/cli/install.sh [BUILD_DIR]: make install puts everything where it belongs, and uninstall leaves
# nothing; the modulefile serves every launcher.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

build=${1:-build}
work=$tmp
prefix=/opt/some/where at=$work$prefix

# says TEXT COMMAND...: its output has TEXT
says() {
    local text=$1
    shift
    "$@" 2>&1 | grep -F -- "$text"
}

check "make install" make -C "$root" B="$build" PREFIX="$prefix" DESTDIR="$work" install
for file in lib/libcollshim.so lib/libnccl-tuner-collshim.so lib/libnccl-profiler-collshim.so bin/collshim bin/collshim-exec bin/collshim-tune share/man/man1/collshim.1 \
    lib/pkgconfig/collshim.pc; do
    check "$file is installed" test -s "$at/$file"
done
if [[ -x $build/collshim-helper && -x $build/openmpi/test/mpi/helpers ]] && command -v mpirun.openmpi >/dev/null; then
    check "the helper is found where it is installed" says "2 processes per rank" "$private_shm" mpirun.openmpi --oversubscribe -n 2 \
        -x LD_PRELOAD="$at/lib/libcollshim.so" -x COLLSHIM_TOPOLOGY=node:2 -x COLLSHIM_PPG=2 -x COLLSHIM_MIN_BYTES=0 \
        -x COLLSHIM_LOG=info "$build/openmpi/test/mpi/helpers" 1
fi
# refuses TEXT COMMAND...: it fails, and its output has TEXT
refuses() {
    local text=$1
    shift
    ! "$@" >"$work/heard" 2>&1 && grep -F -- "$text" "$work/heard"
}

check "the command runs" says "lib/libcollshim.so" "$at/bin/collshim" info
check "the tuner runs" says "--output FILE" "$at/bin/collshim-tune" --help
if [[ -e $at/lib/libcollshim-nccl.so ]]; then
    check "the tuner for NCCL runs" says "--output FILE" "$at/bin/collshim-tune-nccl" --help
    check "it wants to know where to" refuses "--output FILE is missing" "$at/bin/collshim-tune-nccl" true
fi
check "the manual page has the settings" says "COLLSHIM_MIN_BYTES" cat "$at/share/man/man7/collshim.7"
check "the manual page has the subcommands" says "collshim\\-report (1)" cat "$at/share/man/man1/collshim.1"
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$at/share/man/man1/collshim-report.1" >"$work/page" 2>"$work/warnings" || true
    check "the manual page has no mistakes" test ! -s "$work/warnings"
    check "the manual page shows an example" grep -F "collshim report run.json" "$work/page"
fi
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$at/lib/pkgconfig
    check "pkg-config knows the preload" says "$prefix/lib/libcollshim.so" pkg-config --variable=preload collshim
fi
# By a make that finds less than the one that installed.
check "make uninstall" make -C "$root" B="$build" PREFIX="$prefix" DESTDIR="$work" MPICC_mpich=none CUDA_HOME=/none uninstall
check "nothing is left" test -z "$(find "$work$prefix" -type f)"

# shellcheck source=test/cli/cases_module.sh
. "$root/test/cli/cases_module.sh"
conclude
