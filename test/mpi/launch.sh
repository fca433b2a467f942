# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and the cases
# SPDX-License-Identifier: BSD-3-Clause
#
# Starting a job, and what is then wanted of it. A test is
#
#     begin NAME; launch 4 COLLSHIM_MODE=ab -- PROGRAM ARGUMENT; want_right; finish
#
# where each want_... adds a complaint if it is not met; finish prints the one TAP line. `right` and `quiet` say the
# first three at once. A program that cannot run here says why, and exits with 77.

limit=240 # seconds a job may take: ends what hangs, and nothing that merely shares its processors
# A row per library: the family that it is of, the launcher, the folder of the library where no program finds it
# by itself, and whose launcher's options and whose faults it has (`kin`).
wheels=${FABRIC_WHEELS:-$root/build/wheels}
declare -A family_of=([openmpi]=openmpi [mpich]=mpich [mpich5]=mpich [mpich5-abi]=abi [intel-abi]=abi)
declare -A launcher_of=([openmpi]=mpirun.openmpi [mpich]=mpiexec.mpich [mpich5]=$wheels/mpich5/bin/mpiexec [mpich5-abi]=$wheels/mpich5/bin/mpiexec
    [intel-abi]=$wheels/intel/bin/mpiexec)
declare -A folder_of=([mpich5]=$tmp/mpich5:$wheels/mpich5/lib/mpich [mpich5-abi]=$wheels/mpich5/lib [intel-abi]=$wheels/intel/lib)
declare -A kin_of=([openmpi]=openmpi [mpich]=mpich [mpich5]=mpich [mpich5-abi]=mpich [intel-abi]=mpich)
declare -A yielding=([mpich]=$build/test/yield.so)

callers_path=${LD_LIBRARY_PATH-}
# choose LIBRARY: sets what the cases ask for
choose() {
    family=${family_of[$1]} launcher=${launcher_of[$1]} kin=${kin_of[$1]}
    programs=$build/$family/test/mpi
    fortran=$build/$family/test/fortran
    claim_prefix="$1: "
    compiler=mpicc.$family
    # Programs of Debian's MPICH ask for another name of the library.
    [ "$1" != mpich5 ] || { mkdir -p "$tmp/mpich5" && ln -sf "$wheels/mpich5/lib/libmpi.so.12" "$tmp/mpich5/libmpich.so.12"; }
    lacks_fortran="no program was built: is mpif90.$family installed?"
    folder=${folder_of[$1]-}
    export I_MPI_PIN=off LD_LIBRARY_PATH=$folder${callers_path:+${folder:+:}$callers_path}
    if [ "$family" = abi ]; then
        compiler="cc -I$root -I$root/shim/abi"
        lacks_fortran="the standard ABI has no module that one could compile without a library"
    fi
}

# Sets `seed`, which follows from run.sh's and the test's own name: tests before it do not matter.
begin() {
    name=$1
    seed=$(cksum <<<"$first_seed $claim_prefix$name")
    seed=$((${seed%% *} % 1000000000 + 1))
    preload=$build/libcollshim.so
    complaints=
    settings=()
    rc=0
    out=
    err=
}

complain() {
    complaints+=$1$'\n'
}

finish() {
    if [ "$rc" -eq 77 ]; then
        skip "$name" "$(head -n 1 <<<"$out")"
        return
    fi
    if [ -z "$complaints" ]; then
        pass "$name"
        return
    fi
    complain "settings: ${settings[*]}; seed $seed; exit status $rc"
    [ -z "$out" ] || complain "stdout: $out"
    [ -z "$err" ] || complain "stderr: $(head -n 30 <<<"$err")"
    fail "$name" "${complaints%$'\n'}"
}

# settle [NAME=VALUE...]: sets `settled` to what ranks get: the preload, every call that can be
# rerouted is, a report; and the arguments, which win. Ranks do not compare sizes: they would wait
# for each other at every call, and never be a call apart.
settle() {
    local pair
    local -A value=()
    # SANITIZER_RUNTIME: of sanitize.sh, in front of all others
    for pair in "LD_PRELOAD=${SANITIZER_RUNTIME-}$preload${yielding[$kin]:+:${yielding[$kin]}}" COLLSHIM_MIN_BYTES=0 COLLSHIM_TEST_SHARE=0 COLLSHIM_TEST_COMPARE_SIZES=0 "COLLSHIM_REPORT=$tmp/report.json" "$@"; do
        value[${pair%%=*}]=${pair#*=}
    done
    [ -z "$folder" ] || [ -z "${value[LD_LIBRARY_PATH]-}" ] || value[LD_LIBRARY_PATH]+=:$folder
    settled=()
    for pair in "${!value[@]}"; do
        settled+=("$pair=${value[$pair]}")
    done
}

# add_ranks N NAME=VALUE...: more ranks on the command line, of the program in `run`
add_ranks() {
    local pair
    command+=(-n "$1")
    for pair in "${@:2}"; do
        case $kin in
            openmpi) command+=(-x "$pair") ;;
            mpich) command+=(-env "${pair%%=*}" "${pair#*=}") ;;
        esac
    done
    command+=("${run[@]}")
}

# The launcher itself. There are more ranks than cores, so let them yield (`yielding`, for MPICH's). Open MPI takes ob1
# here in any case; unless it is named, PSM2 looks for its hardware for .2 s first.
new_command() {
    command=("$launcher")
    [ "$family" != openmpi ] || command+=(--oversubscribe --mca mpi_yield_when_idle 1 --mca pml ob1)
}

# Runs the command: sets rc, out and err; never fails.
capture() {
    rm -f "$tmp"/report*.json
    rc=0
    out=$("$private_shm" timeout -k 5 "$limit" "${command[@]}" 2>"$tmp/stderr" </dev/null) || rc=$?
    err=$(<"$tmp/stderr")
    [ "$rc" -ne 124 ] || complain "did not end within $limit seconds"
}

# launch N [NAME=VALUE...] -- PROGRAM [ARGUMENT...]
launch() {
    local n=$1
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    run=("${@:2}")
    run=("${run[@]/#SEED/$seed}")
    settle "${settings[@]}"
    new_command
    add_ranks "$n" "${settled[@]}"
    capture
}

# right NAME N [NAME=VALUE...] -- PROGRAM [ARGUMENT...]: begins a test in which the program ends well; SEED stands for
# the test's own. quiet: and nothing is said of it.
right() {
    begin "$1"
    launch "${@:2}"
    want_right
}
quiet() {
    right "$@"
    want_lines
}

# launch_apart N [A...] -- [B...] -- PROGRAM [ARGUMENT...]: the last rank gets the settings B instead
# of A. B may be the one word `bare`: nothing at all, not even the preload.
launch_apart() {
    local n=$1 most=() last=()
    shift
    while [ "$1" != -- ]; do
        most+=("$1")
        shift
    done
    shift
    while [ "$1" != -- ]; do
        last+=("$1")
        shift
    done
    run=("${@:2}")
    settings=("${most[@]}" "and the last rank:" "${last[@]}")
    settle "${most[@]}"
    new_command
    add_ranks $((n - 1)) "${settled[@]}"
    command+=(:)
    if [ "${last[*]}" = bare ]; then
        add_ranks 1
    else
        settle "${last[@]}"
        add_ranks 1 "${settled[@]}"
    fi
    capture
}

# The program compared its results and ended well.
want_right() {
    [ "$rc" -eq 0 ] || complain "exit status $rc, wanted 0"
    grep -q ': right on ' <<<"$out" || complain "the program does not say that its results are right"
}

# report COLLECTIVE FIELD: a number of the report; 0 without one
report() {
    [ -r "$tmp/report.json" ] || { echo 0; return; }
    jq -r --arg c "$1" ".collectives[] | select(.collective == \$c) | $2 // 0" "$tmp/report.json" 2>&1 || true
}

# expected COLLECTIVE: how many calls the program says can be rerouted
expected() {
    sed -nE "s/.* $1=([0-9]+).*/\1/p" <<<"$out" | head -n 1
}

# want_counted FIELD: of both collectives, just as many calls as can be rerouted
want_counted() {
    local collective want got
    for collective in allgather allgatherv; do
        want=$(expected $collective)
        got=$(report $collective "$1")
        [ "$got" = "${want:-none}" ] ||
            complain "report: $collective $1 is ${got:-absent}, the program made ${want:-no known number of} such calls"
    done
}

want_rerouted() {
    want_counted .rerouted
}

# want_number COLLECTIVE FIELD OPERATOR VALUE: e.g. allgather .rerouted -gt 0
want_number() {
    local got
    got=$(report "$1" "$2")
    test "$got" "$3" "$4" 2>/dev/null || complain "report: $1 $2 is $got, wanted $3 ${4:-what is unknown}"
}

# want_every FIELD COLLECTIVE...: as many calls of each as the program says can be rerouted, and not none in all
want_every() {
    local collective want all=0
    for collective in "${@:2}"; do
        want=$(expected "$collective")
        want_number "$collective" "$1" -eq "${want:-unknown}"
        all=$((all + ${want:-0}))
    done
    [ "$all" -gt 0 ] || complain "no call could be rerouted"
}

# want_random_calls COLLECTIVE...: of a random program: results, and the counts that the mode has
want_random_calls() {
    local collective
    want_right
    # shellcheck disable=SC2119
    want_lines
    [[ " ${settings[*]} " = *" COLLSHIM_MODE=off "* ]] || want_every .rerouted "$@"
    if [[ " ${settings[*]} " = *" COLLSHIM_MODE=verify "* ]]; then
        want_every .verified_equal "$@"
        for collective in "$@"; do want_number "$collective" .verified_different -eq 0; done
    fi
}

# want_all_native REASON: so the report says, and counts calls with it
want_all_native() {
    jq -e --arg why "$1" '.all_native == $why and any(.collectives[]; .native[$why] > 0) and
        all(.collectives[]; .rerouted == 0 and (.native | del(.[$why])) == {})' \
        "$tmp/report.json" >/dev/null 2>&1 || complain "the report does not say of all calls: $1"
}

want_no_report() {
    [ ! -e "$tmp/report.json" ] || complain "there is a report"
}

# want_no_last_report: none, or one that was written on the way
want_no_last_report() {
    [ ! -e "$tmp/report.json" ] || jq -e .partial "$tmp/report.json" >/dev/null 2>&1 ||
        complain "there is a report as of MPI_Finalize"
}

# shellcheck disable=SC2120 # other files pass them
# want_lines [PATTERN...]: stderr has just these lines from collshim, in any order (globs)
want_lines() {
    local lines pattern
    readarray -t lines < <(grep '^collshim: ' <<<"$err" || true)
    [ "${#lines[@]}" -eq $# ] || complain "${#lines[@]} lines from collshim, wanted $#"
    for pattern in "$@"; do
        # shellcheck disable=SC2053 # a pattern is meant
        match_any "$pattern" "${lines[@]}" || complain "no line: collshim: $pattern"
    done
}

match_any() {
    local line
    for line in "${@:2}"; do
        # shellcheck disable=SC2053 # a pattern is meant
        [[ $line != "collshim: "$1 ]] || return 0
    done
    return 1
}
