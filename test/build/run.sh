#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/build/run.sh: what make does when something that it finds comes, goes or changes between two builds: it makes
# again what would come out differently. A copy of the tree is built with test/build/compiler, which only notes what
# it is asked, and compared with builds that begin from nothing.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

work=$tmp

# is_empty CLAIM FILE: the claim holds if the file is empty; else it tells why
is_empty() {
    if [[ ! -s $2 ]]; then pass "$1"; else fail "$1" "$(tail -n 8 "$2")"; fi
}

mkdir "$work/tree" "$work/bin"
for part in Makefile config planners transports shim bench test scripts; do cp -a "$root/$part" "$work/tree"; done
export MADE=$work/made HEADERS=$work/headers
export PATH=$work/bin:$PATH
for name in cc c++ mpicc.openmpi mpicc.mpich mpif90.openmpi mpif90.mpich nvcc; do
    ln -s "$root/test/build/compiler" "$work/bin/$name"
    mkdir -p "$HEADERS/$name"
    echo "$name 1" >"$HEADERS/$name/version"
    echo "$name -I/usr/include/$name" >"$HEADERS/$name/where"
done
mkdir -p "$HEADERS/cc/ucp/api" "$HEADERS/cc/elfutils" "$work/cuda/bin" "$work/cuda/include" "$work/nccl/include"
ln -s "$work/bin/nvcc" "$work/cuda/bin"
openmpi=$HEADERS/mpicc.openmpi/mpi.h mpich=$HEADERS/mpicc.mpich/mpi.h
ucx=$HEADERS/cc/ucp/api/ucp.h glpk=$HEADERS/cc/glpk.h
libunwind=$HEADERS/cc/libunwind.h libdw=$HEADERS/cc/elfutils/libdwfl.h
cuda=$work/cuda/include/cudaTypedefs.h nccl=$work/nccl/include/nccl.h
for header in "$openmpi" "$mpich" "$ucx" "$glpk" "$libunwind" "$libdw" "$cuda" "$nccl"; do echo "${header##*/} 1" >"$header"; done

# run_make ARGUMENT...
run_make() {
    env -u CFLAGS -u LDFLAGS -u MAKEFLAGS -u MAKELEVEL make -C "$work/tree" B="$work/b" CC=cc CXX=c++ \
        CUDA_HOME="$work/cuda" NCCL_HOME="$work/nccl" "$@"
}

# build [KNOB=VALUE...]: one of each kind of thing that can be built with what there is
build() {
    local goals=(libcollshim.so collshim)
    [[ ! -e $openmpi ]] || goals+=(libcollshim-openmpi.so collshim-bench-openmpi openmpi/test/{mpi/huge,fortran/gather_mpi})
    [[ ! -e $mpich ]] || goals+=(mpich/test/mpi/huge)
    [[ ! -e $cuda || ! -e $nccl ]] || goals+=(libcollshim-nccl.so test/nccl_ranks test/nccl_linked collshim-overhead-nccl)
    [[ ! -e $cuda ]] || goals+=(test/gpu_contract test/bench_collaborative)
    [[ ! -e $ucx && (! -e $cuda || ! -e $nccl) ]] || goals+=(collshim-helper)
    [[ ! -e $glpk ]] || goals+=(test/grade)
    : >"$MADE"
    run_make -s -j2 V=1 "${goals[@]/#/$work/b/}" "$@" >"$work/said" 2>&1 || is_empty "the build ends well" "$work/said"
}

contents() { # a line for each file made
    (cd "$work/b" && find . -type f ! -path './found/*' ! -name '*.d' -exec cksum {} + | awk '{ print $3, $1 }' | sort)
}

# try CLAIM CHANGE BACK [KNOB=VALUE...]: from everything built and CHANGE run, one more build, compared with one from
# nothing; then back, by running BACK. Files that CHANGE removes may be left over.
try() {
    local claim=$1 change=$2 back=$3
    shift 3
    eval "$change"
    rm -rf "$work/b"
    build "$@"
    contents >"$work/fresh"
    rm -rf "$work/b"
    cp -a "$work/full" "$work/b"
    build "$@"
    sort -u "$MADE" | sed "s|^$work/b/|./|" >"$work/again"
    contents | comm -13 - "$work/fresh" >"$work/stale"
    is_empty "$claim: nothing stale" "$work/stale"
    comm -23 "$work/fresh" "$work/all" >"$work/due" # what a build from nothing has otherwise
    [[ -s $work/due ]] || echo "$claim" >>"$work/stale"
    is_empty "$claim: it makes a difference" "$work/stale"
    if [[ ${needless:-no} == no ]]; then
        cut -d ' ' -f 1 "$work/due" | comm -13 - "$work/again" >"$work/more"
        is_empty "$claim: nothing needless" "$work/more"
    fi
    build "$@"
    is_empty "$claim: a second build makes nothing" "$MADE"
    eval "$back"
    build
    contents | comm -13 - "$work/all" >"$work/stale"
    is_empty "$claim, and back: nothing stale" "$work/stale"
}

build
contents >"$work/all"
cp -a "$work/b" "$work/full"
build
is_empty "a second build makes nothing" "$MADE"
build CFLAGS='-O2 -g -Werror -Wconversion'
is_empty "options that only warn make nothing again" "$MADE"
: >"$MADE"
run_make -s -j2 B=../b ../b/{libcollshim.so,collshim} >"$work/said" 2>&1
is_empty "the folder by another name: nothing is made again" "$MADE"

for it in ucx glpk libunwind libdw nccl cuda; do try "without $it" "mv ${!it} $work/hidden" "mv $work/hidden ${!it}"; done
# The effect of a header's number is not tested: all files that can see the header are made again.
needless=yes
try "other GPUs" : : CUDA_ARCHS=90
try "another nvcc" "echo nvcc 2 >$HEADERS/nvcc/version" "echo nvcc 1 >$HEADERS/nvcc/version"
try "another CUDA and Open MPI" "sed -i s/1/2/ $cuda $openmpi" "sed -i s/2/1/ $cuda $openmpi"
try "another compiler" "echo cc 2 >$HEADERS/cc/version" "echo cc 1 >$HEADERS/cc/version"
try "other flags" : : CFLAGS='-O3 -Wl,-O1'
try "a source is gone" "mv $work/tree/config/base/nearest.c $work/hidden" "mv $work/hidden $work/tree/config/base/nearest.c"
# shellcheck disable=SC2016 # of the sources
try "a header comes and goes" 'touch $work/tree/shim/cli/new.h
    sed -i "1i #include \"shim/cli/new.h\"" $work/tree/shim/cli/plan/lp.c' \
    'rm $work/tree/shim/cli/new.h; sed -i 1d $work/tree/shim/cli/plan/lp.c'

# Everything that is linked is linked again for other LDFLAGS, and nothing is compiled.
run_make -s -j2 all test-programs "$work/b/test/grade" >"$work/said" 2>&1 || is_empty "everything is built" "$work/said"
: >"$MADE"
run_make -s -j2 all test-programs "$work/b/test/grade" LDFLAGS=-Wl,-z,relro >"$work/said" 2>&1
find "$work/b" -type f ! -path '*/found/*' ! -path '*/fortran/*' ! -name '*.[do]' ! -name '*.fatbin' | sort >"$work/due"
sort "$MADE" | diff - "$work/due" >"$work/differ" || true
is_empty "other LDFLAGS link all again ($(wc -l <"$work/due") files) and compile nothing" "$work/differ"

# With the real compiler, and without the library's header in spite of it being there.
mkdir "$work/without"
echo '#error' >"$work/without/glpk.h"
lp=$work/real/pic/shim/cli/plan/lp.o
PATH=${PATH#*:}
if echo '#include <glpk.h>' | cc -E - >/dev/null 2>&1; then
    uses_glpk() { make -C "$root" -s B="$work/real" "$lp" >"$work/said" 2>&1 && nm "$lp" | grep -c glp_create_prob; }
    CPATH=$work/without uses_glpk >"$work/before" || true
    uses_glpk >"$work/after" || true
    cat "$work/before" "$work/after" | diff - <(printf '%s\n' 0 1) >"$work/differ" || true
    is_empty "GLPK is used once it is there" "$work/differ"
else
    skip "GLPK is used once it is there" "libglpk-dev is not installed"
fi

conclude
