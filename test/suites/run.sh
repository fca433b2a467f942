#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/suites/run.sh [--mpi LIBRARY] [--as FORM] [--folders 'FOLDER...'] [--topology] [--limit SECONDS]
# [--work DIR] [SUITE...]: other people's test suites with every call forced onto our paths.
#
#   mpich      MPICH's test suite: the folders coll, comm, topo, attr and threads/comm of it
#   mpi4py     mpi4py's, but for files, windows and spawned processes (not with Debian's MPICH)
#   scalapack  the testers of BLACS, PBLAS and ScaLAPACK, on 4 ranks (with Debian's libraries)
#
# They come from Debian's packages, sources where there is no other way, and mpi4py from PyPI. They lie in DIR
# (default: a temporary folder that goes at the end; give one to build once). A test that fails is run up to three
# times without libcollshim.so: what the library fails as well, if only now and then, says nothing about
# us and is skipped, with that reason.
#
#   --mpi M          with one library, openmpi, mpich or mpich5 (scripts/setup wheels); default: the first two
#   --as FORM        nonblocking or persistent: each blocking collective becomes a started one (started.c), in
#                    the runs without libcollshim.so too
#   --folders LIST   of MPICH's suite
#   --limit SECONDS  that a test may take, unless its list says more (default: 120)
#   --topology       ranks as if on several nodes, so that what runs between nodes does
#
# Behind a suite comes how many of its calls were rerouted, by the reports of the jobs that ended.
#
# Needs root, and 20 minutes and more, so it is no part of scripts/test.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

folders='coll comm topo attr threads/comm'
families=()
suites=()
topology=0
work=
form=
forced=0
wheels=${FABRIC_WHEELS:-$root/build/wheels}
declare -A compiler_of=([openmpi]=mpicc.openmpi [mpich]=mpicc.mpich [mpich5]=$wheels/mpich5/bin/mpicc)
declare -A prefix_of=([openmpi]=/usr [mpich]=/usr [mpich5]=$wheels/mpich5)
declare -A launcher_of=([openmpi]=mpirun.openmpi [mpich]=mpiexec.mpich [mpich5]=$wheels/mpich5/bin/mpiexec)
callers_path=${LD_LIBRARY_PATH-}
mpi4py=4.1.2
limit=120

die() {
    echo "test/suites: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --mpi) families=("${2?$1 needs a value: openmpi, mpich or mpich5}") && shift ;;
        --as) form=${2?$1 needs a value: nonblocking or persistent} && shift ;;
        --folders) folders=${2?$1 needs a value: folders of MPICH\'s test/mpi} && shift ;;
        --topology) topology=1 ;;
        --limit) limit=${2?$1 needs a value: seconds} && shift ;;
        --work) work=${2?$1 needs a value: a folder} && shift ;;
        mpich | mpi4py | scalapack) suites+=("$1") ;;
        *) die "'$1' is neither an option nor a suite; test/suites/run.sh --help" ;;
    esac
    shift
done
[ ${#suites[@]} -gt 0 ] || suites=(mpich mpi4py scalapack)
[ ${#families[@]} -gt 0 ] || families=(openmpi mpich)
[[ $form =~ ^(|nonblocking|persistent)$ ]] || die "--as: no '$form'; nonblocking or persistent"
for family in "${families[@]}"; do
    [ -n "${compiler_of[$family]-}" ] || die "--mpi: no '$family'; one of ${!compiler_of[*]}"
done
[ "$(id -u)" -eq 0 ] || die "run it as root: each test gets a mount of its own, so that nothing of it stays"
[ -r "$root/build/libcollshim.so" ] || die "build/libcollshim.so is missing: run make first"
work=${work:-$tmp/work}
mkdir -p "$work"
work=$(cd "$work" && pwd)

# Many of these tests hang or die: with processes and shared memory of their own, nothing of them stays.
apart=(unshare --mount --pid --fork --kill-child --mount-proc "$private_shm")

# fetch PACKAGE: its unchanged source in $work/PACKAGE, by lists of our own
fetch() {
    local codename apt
    [ ! -d "$work/$1" ] || return 0
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mkdir -p "$work/lists/partial" "$work/fetched"
    echo "deb-src http://deb.debian.org/debian $codename main" >"$work/sources.list"
    apt=(apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$work/fetched" && "${apt[@]}" source --download-only "$1")
    mkdir "$work/$1.part"
    tar -C "$work/$1.part" --strip-components=1 -xf "$(ls "$work"/fetched/"$1"_*.orig.tar.*)"
    mv "$work/$1.part" "$work/$1"
}

# make_started FAMILY FORCED [OPTION...]: the preload that --as wants
make_started() {
    "${compiler_of[$1]}" -std=gnu11 -O1 -g -Wall -Wextra "${@:3}" -shared -fPIC -I"$root" -o "$tmp/started-$1-$2.so" \
        "$root/test/suites/started.c" -ldl
}

# launch FAMILY N SECONDS COMMAND...: under the preload if `forced` is 1; sets out and rc
launch() {
    local family=$1 n=$2 seconds=$3 per_node=1 preload pair
    local -a set=() job=("${launcher_of[$1]}" -n "$2")
    shift 3
    preload=
    [ -z "$form" ] || { preload=$tmp/started-$family-$forced.so && set+=(STARTED="$form"); }
    if [ "$forced" -eq 1 ]; then
        preload+=${preload:+:}$root/build/libcollshim.so
        set+=(COLLSHIM_MIN_BYTES=0 COLLSHIM_REPORT="$tmp/report.json")
        [ $((n % 2)) -ne 0 ] || per_node=2
        [ $((n % 8)) -ne 0 ] || per_node=4
        [ "$topology" -eq 0 ] || set+=(COLLSHIM_TOPOLOGY="node:$((n / per_node)) rank:$per_node rail:$per_node")
    fi
    # MPICH's ranks give up the core where they wait only so; in front of the library that it is for.
    [ "$family" = openmpi ] || [ ! -r "$root/build/test/yield.so" ] || preload+=${preload:+:}$root/build/test/yield.so
    [ -z "$preload" ] || set+=(LD_PRELOAD="$preload")
    [ "$family" != openmpi ] || job+=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
    for pair in "${set[@]}"; do
        if [ "$family" = openmpi ]; then job+=(-x "$pair"); else job+=(-env "${pair%%=*}" "${pair#*=}"); fi
    done
    rc=0
    out=$(timeout --signal=KILL "$seconds" "${apart[@]}" "${job[@]}" "$@" 2>&1 </dev/null) || rc=$?
}

# Adds the report of the last job, if it got to write one.
count_calls() {
    local calls rerouted started
    read -r calls rerouted started < <(jq -r '[.collectives[] | [.calls, .rerouted, .rerouted_nonblocking]] |
        transpose | map(add) | @tsv' "$tmp/report.json" 2>/dev/null || true) || return 0
    rm -f "$tmp/report.json"
    all_calls=$((all_calls + calls)) all_rerouted=$((all_rerouted + rerouted)) all_started=$((all_started + started))
}

# judge NAME FUNCTION FAMILY N SECONDS COMMAND...: forced; and if FUNCTION finds that wrong, without us,
# where one failure in three runs is enough: some of these tests race
judge() {
    local name=$1 is_right=$2 ours try
    shift 2
    forced=1 launch "$@"
    count_calls
    if "$is_right"; then
        pass "$name"
        return
    fi
    ours=$(tail -n 8 <<<"exit status $rc; $out")
    for try in 1 2 3; do
        forced=0 launch "$@"
        if ! "$is_right"; then
            skip "$name" "the library fails it too, in run $try${form:+, as $form calls}"
            return
        fi
    done
    fail "$name" "$ours"
}

says_no_errors() { [ "$rc" -eq 0 ] && [[ $out == *"No Errors"* ]]; }
exits_well() { [ "$rc" -eq 0 ]; }

# Each tester has words of its own for it; those of BLACS end by aborting.
scalapack_passes() {
    grep -qiE 'end of tests|passed residual checks|DONE BLACS_GRIDEXIT' <<<"$out" &&
        ! grep -qiE '[1-9][0-9]* (tests completed and )?failed|: P[A-Z0-9]+ +FAILED|^ *\|  P[A-Z0-9]+ +[0-9]+ +[0-9]+ +[1-9]' <<<"$out"
}

build_mpich() {
    local family=$1 folder at=$work/mpich-$1 mpicc=${compiler_of[$1]}
    [ ! -d "$at" ] || return 0
    # Open MPI's mpi.h has only the names that replaced these.
    sed -i -E 's/MPI_Type_(hvector|hindexed|struct)\(/MPI_Type_create_\1(/' "$work"/mpich/test/mpi/dtpools/src/*.c
    mkdir "$at.part"
    (
        cd "$at.part"
        "$work/mpich/test/mpi/configure" --with-mpi="${prefix_of[$family]}" CC="$mpicc" MPICC="$mpicc" \
            --without-cuda --disable-fortran --disable-cxx --disable-spawn --disable-ft-tests --disable-romio
        make -j"$(nproc)" -C util
        make -j"$(nproc)" -C dtpools
        for folder in $folders; do # what uses extensions of MPICH does not build with others
            make -k -j"$(nproc)" -C "$folder" || :
        done
    ) >"$work/build-$family.log" 2>&1 || die "MPICH's suite does not build: $work/build-$family.log"
    mv "$at.part" "$at"
}

suite_mpich() {
    local family=$1 folder word list program n seconds
    local -a words arguments
    fetch mpich
    build_mpich "$family"
    for folder in $folders; do
        list=$work/mpich/test/mpi/$folder/testlist
        [ -r "$list" ] || list=$list.in
        # a row: program, ranks, and words such as arg=X and timeLimit=X; mem=: for large machines
        while read -r -a words; do
            program=$work/mpich-$family/$folder/${words[0]}
            [[ ${words[*]} != *mem=* && ${words[1]:-} =~ ^[0-9]+$ && -x $program ]] || continue
            n=${words[1]}
            seconds=$limit
            arguments=()
            for word in "${words[@]:2}"; do
                case $word in
                    arg=*) arguments+=("${word#arg=}") ;;
                    timeLimit=*) seconds=${word#timeLimit=} ;;
                esac
            done
            [ "$n" -le 16 ] || continue
            judge "$family: $folder/${words[0]} $n${arguments[*]:+ ${arguments[*]}}" says_no_errors \
                "$family" "$n" "$seconds" "$program" "${arguments[@]}"
        done < <(sed -E 's/^@[A-Za-z_]+@//; s/#.*//; /^ *$/d' "$list")
    done
}

# PyPI's wheel takes whichever library there is; the tests are in the source.
suite_mpi4py() {
    local n at=$work/mpi4py-$mpi4py
    local -a without=(-e spawn -e dynproc -e io -e file -e rma -e win)
    [ "$1" != mpich ] || return 0
    if [ ! -d "$at" ]; then
        python3 -m venv "$at.part"
        "$at.part/bin/pip" -q install "mpi4py==$mpi4py"
        "$at.part/bin/pip" -q download --no-deps --no-binary mpi4py -d "$at.part" "mpi4py==$mpi4py"
        tar -C "$at.part" --strip-components=1 -xf "$at.part/mpi4py-$mpi4py.tar.gz"
        mv "$at.part" "$at"
    fi
    # Between two groups, started calls hang without libcollshim.so as well; only MPICH 5's persistent ones do not.
    [ -z "$form" ] || [ "$form $1" = "persistent mpich5" ] || without+=(-e inter)
    # MPICH's started calls are not rerouted with MPI_THREAD_MULTIPLE, for which mpi4py asks.
    [ -z "$form" ] || [ "$1" = openmpi ] || export MPI4PY_RC_THREAD_LEVEL=serialized
    for n in 1 3 4; do
        judge "$1: mpi4py's tests $n" exits_well "$1" "$n" 600 "$at/bin/python3" "$at/test/runtests.py" -q \
            "${without[@]}"
    done
}

suite_scalapack() {
    local at=$work/scalapack tests program
    [ "$1" != mpich5 ] || return 0
    if [ ! -d "$at" ]; then
        mkdir -p "$work/packages"
        (cd "$work/packages" && apt-get -qq -o APT::Sandbox::User=root download \
            scalapack-mpi-test scalapack-test-common libscalapack-openmpi2.2 libscalapack-mpich2.2)
        for package in "$work"/packages/*.deb; do dpkg -x "$package" "$at.part"; done
        mv "$at.part" "$at"
    fi
    mkdir -p "$work/data"
    find "$at/usr/share/scalapack" -name '*.dat' -exec cp {} "$work/data" \;
    tests=$(dirname "$(find "$at/usr/lib" -path "*/$1-tests/xdlu")")
    for program in $(find "$tests" -type f -perm -1 ! -name '*tim' | sort); do
        judge "$1: ScaLAPACK's $(basename "$program") 4" scalapack_passes "$1" 4 300 \
            env -C "$work/data" LD_LIBRARY_PATH="$tests/../.." OPENBLAS_NUM_THREADS=1 "$program"
    done
}

for family in "${families[@]}"; do
    if ! command -v "${compiler_of[$family]}" >/dev/null; then
        skip "$family" "it is not installed: scripts/setup installs it"
        continue
    fi
    export LD_LIBRARY_PATH=$callers_path
    [ "$family" != mpich5 ] || LD_LIBRARY_PATH=$wheels/mpich5/lib:$wheels/mpich5/lib/mpich${callers_path:+:$callers_path}
    make_started "$family" 0
    make_started "$family" 1 -DLARGE
    for suite in "${suites[@]}"; do
        all_calls=0 all_rerouted=0 all_started=0
        "suite_$suite" "$family"
        echo "# $family, $suite${form:+, as $form calls}: of $all_calls calls $all_rerouted were rerouted," \
            "$all_started of them started ones"
    done
done
conclude
