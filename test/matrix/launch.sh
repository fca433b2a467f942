# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and bench/startup
# SPDX-License-Identifier: BSD-3-Clause
#
# The libraries, and how a job of each is started on one host or on four emulated ones, with collshim
# reaching its ranks in one of several ways. Sourced by run.sh and bench/startup, behind scripts/lib.sh;
# they set `self`, their name in messages, and call prepare.

prefix=$tmp/installed # where collshim is
fabric_name=mx$$
raised=no

# A row per library: its family, and what starts it, an MPI as scripts/fabric calls it. Those of the standard ABI
# all run the same program.
wheels=${FABRIC_WHEELS:-$root/build/wheels}
libraries=(openmpi mpich openmpi5 mpich5 intel mpich5-abi intel-abi)
declare -A title=([openmpi]="Open MPI 4" [mpich]="MPICH 4" [openmpi5]="Open MPI 5" [mpich5]="MPICH 5" [intel]="Intel MPI"
    [mpich5-abi]="MPICH 5, standard ABI" [intel-abi]="Intel MPI, standard ABI")
declare -A family=([openmpi]=openmpi [mpich]=mpich [openmpi5]=openmpi [mpich5]=mpich [intel]=mpich [mpich5-abi]=abi
    [intel-abi]=abi)
declare -A started_as=([openmpi]=openmpi [mpich]=mpich [openmpi5]=openmpi5 [mpich5]=mpich5 [intel]=intel
    [mpich5-abi]=mpich5 [intel-abi]=intel)
# A row per launcher: its command, its options on one host, and the option with which it sets a variable of the ranks.
declare -A launcher=([openmpi]=mpirun.openmpi [mpich]=mpiexec.mpich [openmpi5]=$wheels/openmpi5/bin/mpiexec
    [mpich5]=$wheels/mpich5/bin/mpiexec [intel]=$wheels/intel/bin/mpiexec)
declare -A on_one_host=([openmpi]="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
    [openmpi5]="--map-by :oversubscribe --bind-to none --mca mpi_yield_when_idle 1" [mpich]="" [mpich5]="" [intel]="")
declare -A sets=([openmpi]=-x [openmpi5]=-x [mpich]=-genv [mpich5]=-genv [intel]=-genv)
# The linker of a program, if it is not its family's own compiler.
declare -A libmpi=([openmpi5]=$wheels/openmpi5/lib/libmpi.so.40 [mpich5]=$wheels/mpich5/lib/libmpi.so.12
    [intel]=$wheels/intel/lib/libmpi.so.12 [mpich5-abi]=$wheels/mpich5/lib/libmpi_abi.so.1
    [intel-abi]=$wheels/intel/lib/libmpi_abi.so.1)
declare -A libmpifort=([intel]=$wheels/intel/lib/libmpifort.so.12)

ways=(environment module option)

die() {
    echo "$self: $*" >&2
    exit 2
}

# take_list OPTION LIST KNOWN...: sets list
take_list() {
    local word
    IFS=, read -ra list <<<"$2"
    for word in "${list[@]}"; do
        [[ " ${*:3} " == *" $word "* ]] || die "$1: no '$word'; expected some of ${*:3}"
    done
}

# prepare BUILD: installs what was built and compiles the programs.
prepare() {
    local each
    [[ -r $1/libcollshim.so ]] || die "$1/libcollshim.so is missing: run make first, or name the build directory"
    clear_environment
    export I_MPI_PIN=off
    at_exit end_strays
    make -s -C "$root" B="$(realpath --relative-to="$root" "$1")" PREFIX="$prefix" install >"$tmp/log" 2>&1 ||
        die "make install: $(tail -n 1 "$tmp/log")"
    for each in openmpi mpich; do
        ! command -v "mpicc.$each" >/dev/null || make_programs "$each" || die "the programs for $each do not compile"
    done
    mkdir -p "$tmp/abi"
    cc -std=gnu11 -O2 -I"$root" -I"$root/shim/abi" -o "$tmp/abi/c" "$root/test/matrix/collectives.c" \
        "$1/linkable/libmpi_abi.so.1" || die "the program for the standard ABI does not compile"
    find_modules
}

# four_hosts: raises them once.
four_hosts() {
    [[ $raised == yes ]] || raise_fabric "$fabric_name" --nodes 4 --rails 4 --rate 1gbit || die "the fabric does not start"
    raised=yes
}

# find_modules: sets modules_init, Environment Modules' or Lmod's; empty without.
find_modules() {
    for modules_init in /usr/share/modules/init/bash /usr/share/lmod/lmod/init/bash ''; do
        [[ -n $modules_init && ! -r $modules_init ]] || break
    done
}

# absent LIBRARY HOSTS: says why it cannot be tried, or fails.
absent() {
    local compiler=mpicc.${family[$1]} starter=${launcher[${started_as[$1]}]}
    [[ ${family[$1]} != abi ]] || compiler=cc
    if [[ $2 -gt 1 && $EUID -ne 0 ]]; then
        echo "several hosts need root"
    elif ! command -v "$starter" >/dev/null; then
        if [[ -n ${libmpi[$1]-} ]]; then
            echo "no $starter: scripts/setup wheels"
        else
            echo "no $starter: scripts/setup build"
        fi
    elif [[ ${family[$1]} == abi && ! -e ${libmpi[$1]} ]]; then
        echo "no ${libmpi[$1]}: this version lacks the standard ABI"
    elif ! command -v "$compiler" >/dev/null; then
        echo "no $compiler: scripts/setup build"
    else
        return 1
    fi
}

# absent_way LIBRARY WAY: says why it cannot be tried, or fails.
absent_way() {
    [[ $2 == module && -z $modules_init ]] && echo "no module command: package environment-modules"
}

# make_programs FAMILY: objects, and programs for the family's own library, in $tmp/FAMILY
make_programs() {
    local at=$tmp/$1 here=$root/test/matrix
    local -a f90=("mpif90.$1" -O1 -cpp -fallow-argument-mismatch -w -J "$at" -c)
    mkdir -p "$at"
    "mpicc.$1" -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror -c -o "$at/c.o" "$here/collectives.c" &&
        "mpicc.$1" -o "$at/c" "$at/c.o" || return 1
    command -v "mpif90.$1" >/dev/null || return 0
    # `use mpi_f08` hands over descriptors that are the compiler's own, so no other library takes them.
    "${f90[@]}" -o "$at/f.o" "$here/collectives.F90" && "mpif90.$1" -o "$at/f" "$at/f.o" &&
        "${f90[@]}" -DWITHOUT_F08 -o "$at/f_without_f08.o" "$here/collectives.F90"
}

# find_programs LIBRARY: sets `programs`: C, and Fortran if the library has it; links what is missing.
# An object of Debian's MPICH serves every library of its ABI, a program of its does not: Debian's
# library has a name of its own, libmpich.so.12.
find_programs() {
    local at=$tmp/${family[$1]} own=$tmp/$1
    mkdir -p "$own"
    if [[ ${family[$1]} == mpich && -n ${libmpi[$1]-} ]]; then
        cc -o "$own/c" "$at/c.o" "${libmpi[$1]}" || die "$at/c.o does not link with ${libmpi[$1]}"
        if [[ -n ${libmpifort[$1]-} && -e $at/f_without_f08.o ]]; then
            gfortran -o "$own/f" "$at/f_without_f08.o" "${libmpifort[$1]}" "${libmpi[$1]}" ||
                die "$at/f_without_f08.o does not link with ${libmpifort[$1]}"
        fi
    fi
    programs=("$at/c")
    [[ ! -x $own/c ]] || programs=("$own/c")
    if [[ -x $own/f ]]; then
        programs+=("$own/f")
    elif [[ -z ${libmpi[$1]-} && -x $at/f ]]; then
        programs+=("$at/f")
    fi
}

# load_module: in this shell
load_module() {
    set +eu # theirs
    # shellcheck disable=SC1090
    . "$modules_init" && module use "$prefix/share/modulefiles" && module load collshim
    set -eu
    [[ -n ${LD_PRELOAD-} ]] || { echo "module load collshim: LD_PRELOAD is not set"; exit 1; } >&2
}

# with_way WAY COMMAND...: becomes the command, with what the user's shell has of collshim
with_way() {
    case $1 in
    environment) export LD_PRELOAD=$prefix/lib/libcollshim.so ;;
    report) export LD_PRELOAD=$prefix/lib/libcollshim.so COLLSHIM_REPORT=$tmp/report.json ;;
    module) load_module ;;
    esac
    exec "${@:2}"
}

# way_options LIBRARY WAY: sets options, what the user types behind the launcher's name. With the
# module it sets some variable of the user's own, too.
way_options() {
    local pair=
    case $2 in
    option) pair=LD_PRELOAD=$prefix/lib/libcollshim.so ;;
    module) pair=MATRIX_OPTION=1 ;;
    esac
    options=()
    [[ -z $pair ]] || case ${sets[${started_as[$1]}]} in
    -x) options=(-x "$pair") ;;
    -genv) options=(-genv "${pair%%=*}" "${pair#*=}") ;;
    esac
}

# launch LIBRARY HOSTS RANKS WAY SECONDS PROGRAM...: runs a job; WAY is native, report (environment, with a report) or one of `ways`. Output
# goes to $tmp/out and $tmp/err; sets rc (124: it was ended after so many seconds), took_ms and line, the
# command.
launch() {
    local library=$1 hosts=$2 ranks=$3 way=$4 seconds=$5 starter=${started_as[$1]} began
    local -a options command
    shift 5
    way_options "$library" "$way"
    # shellcheck disable=SC2206 # options in words
    if [[ $hosts -eq 1 ]]; then
        command=(env MATRIX_RUN=$$ "$private_shm" timeout -k 2 "$seconds" "${launcher[$starter]}" ${on_one_host[$starter]}
            -n "$ranks" "${options[@]}" "$@")
        [[ -z ${libmpi[$library]-} ]] || command=("${command[@]:0:2}"
            "LD_LIBRARY_PATH=${libmpi[$library]%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "${command[@]:2}")
    else
        command=("$fabric" run --name "$fabric_name" --mpi "$starter" --ppn $((ranks / hosts))
            --timeout "$seconds" --mpi-args "${options[*]}" -- "$@")
    fi
    line="${command[*]}"
    began=$(date +%s%N)
    rc=0
    (with_way "$way" "${command[@]}") >"$tmp/out" 2>"$tmp/err" </dev/null || rc=$?
    took_ms=$((($(date +%s%N) - began) / 1000000))
    [[ $rc -ne 137 ]] || rc=124
    end_strays
}

# end_strays: kills what a launcher on one host that was killed has left; a fabric ends its runs itself.
end_strays() {
    local pids
    pids=$(grep -lszxF "MATRIX_RUN=$$" /proc/[0-9]*/environ | cut -d / -f 3 || true)
    # shellcheck disable=SC2086 # one word per process
    [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
}

# The large calls that the program says it made, as the report counts them.
large_calls() {
    sed -n 's/^collectives: right.*large://p' "$tmp/out" | tr ' ' '\n' | sed 's/^alltoallw=/alltoallv=/' |
        awk -F = 'NF == 2 { n[$1] += $2 } END { for (c in n) printf "%s\t%d\n", c, n[c] }' | sort
}

rerouted_calls() {
    [[ -r $tmp/report.json ]] || return 0
    jq -r '.collectives[] | select(.rerouted > 0) | [.collective, .rerouted] | @tsv' "$tmp/report.json" | sort
}

count() { # of calls in large_calls' or rerouted_calls' form
    awk '{ n += $2 } END { print n + 0 }' <<<"$1"
}
