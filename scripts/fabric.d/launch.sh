# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # the request is set by scripts/fabric
#
# Starts the ranks of one MPI program on a fabric. Sourced by scripts/fabric.
#
# The launcher runs on node net, as on a login node, and reaches every host in the same way, through
# fabric.d/agent. On host 0, as a user might do it, it could not enter the other hosts: a process
# namespace can only be entered from outside.
#
# Every process of a run carries FABRIC_RUN in its environment. Processes that still live after the launcher has ended
# are found by that and killed: Open MPI's daemons leave their session and their parent, so neither a process group
# nor a parent would find them.

# find_launcher MPI NAME WORD: the launcher called NAME.MPI, or NAME if its version mentions WORD.
find_launcher() {
    if command -v "$2.$1"; then
        return
    fi
    "$2" --version 2>/dev/null | grep -qi "$3" && command -v "$2"
}

# home_launcher: sets launcher, and home, where the library of --mpi has bin/mpiexec and lib/.
home_launcher() {
    home=${mpi_home:-${FABRIC_WHEELS:-${here%/*}/build/wheels}/$mpi}
    launcher=$home/bin/mpiexec
    [[ -x $launcher ]] || die "--mpi $mpi: $launcher is missing; install it (scripts/setup wheels)," \
        "or say where it is: --mpi-home DIR, or FABRIC_WHEELS for what setup installed"
    home=$(readlink -f "$home")
    wrapper_args=(--env "LD_LIBRARY_PATH=$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        "${wrapper_args[@]}") # first, so that the caller's own --env wins
}

choose_launcher() {
    case $mpi in
    openmpi) launcher=$(find_launcher openmpi mpirun 'open mpi') ||
        die "no Open MPI launcher found; install openmpi-bin, or use --mpi mpich" ;;
    mpich) launcher=$(find_launcher mpich mpiexec hydra) ||
        die "no MPICH launcher found; install mpich, or use --mpi openmpi" ;;
    openmpi5 | mpich5 | intel) home_launcher ;;
    '') if launcher=$(find_launcher openmpi mpirun 'open mpi'); then
        mpi=openmpi
    elif launcher=$(find_launcher mpich mpiexec hydra); then
        mpi=mpich
    else
        die "no MPI found; install openmpi-bin or mpich"
    fi ;;
    *) usage_error "--mpi $mpi: expected openmpi, mpich, openmpi5, mpich5 or intel" ;;
    esac
    [[ -z $mpi_home || -n $home ]] ||
        usage_error "--mpi-home: $mpi is found by PATH; expected --mpi openmpi5, mpich5 or intel"
}

# count_places: sets slots, the ranks each host may take, and ranks, their number.
count_places() {
    local each h sum=0
    if [[ -z $ppn && -n $ranks ]]; then
        for ((h = 0; h < nodes && h < ranks; h++)); do
            slots+=($(((ranks + nodes - 1 - h) / nodes)))
        done
        return
    fi
    : "${ppn:=$rails}"
    [[ $ppn =~ ^[1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*$ ]] ||
        usage_error "--ppn $ppn: expected a number of ranks, or one for each host such as 4,3,4"
    IFS=, read -ra slots <<<"$ppn"
    if [[ $ppn != *,* ]]; then
        while ((${#slots[@]} < nodes)); do slots+=("$ppn"); done
    fi
    ((${#slots[@]} <= nodes)) ||
        usage_error "--ppn $ppn: ${#slots[@]} hosts named; fabric $name has $nodes"
    for each in "${slots[@]}"; do sum=$((sum + each)); done
    : "${ranks:=$sum}"
    ((ranks <= sum)) ||
        usage_error "-n $ranks: --ppn $ppn gives $sum places on fabric $name; expected at most that"
}

# mca OPTION NAME VALUE: adds a setting of Open MPI (--mca) or of its launcher (--prtemca), unless the
# caller has made it.
mca() {
    local i
    [[ ! -v OMPI_MCA_$2 && ! -v PRTE_MCA_$2 ]] || return 0
    for ((i = 0; i + 1 < ${#mpi_args[@]}; i++)); do
        [[ ${mpi_args[i]} =~ ^--?(g|prte)?mca$ && ${mpi_args[i + 1]} == "$2" ]] && return 0
    done
    command_line+=("$@")
}

# open_mpi_command: Open MPI's launchers, as far as their options are the same.
open_mpi_command() {
    local h
    for h in "${!slots[@]}"; do
        echo "$name-h$h slots=${slots[h]}"
    done >"$run_dir/hostfile"
    command_line=("$launcher" --allow-run-as-root --bind-to none
        --hostfile "$run_dir/hostfile" -np "$ranks")
    case $place in
    block) command_line+=(--map-by slot) ;;
    cyclic) command_line+=(--map-by node) ;;
    esac
    mca --mca pml ob1
    mca --mca mpi_yield_when_idle 1
}

openmpi_command() {
    open_mpi_command
    mca --mca plm_rsh_agent "$here/fabric.d/agent"
    mca --mca oob_tcp_if_include mgmt0
    mca --mca orte_tmpdir_base "$run_dir"
    mca --mca btl tcp,vader,self
}

# The launcher of Open MPI 5 has settings of its own. It names files by process numbers, which are the
# same on all hosts, so it needs a directory that is private to the host.
openmpi5_command() {
    open_mpi_command
    mca --prtemca plm_ssh_agent "$here/fabric.d/agent"
    mca --prtemca prte_if_include mgmt0
    mca --prtemca prte_tmpdir_base /dev/shm
    mca --mca btl tcp,sm,self
}

# preload_own NAME: preloads fabric.d/NAME.c, which says what it is for; compiled once per fabric.
preload_own() {
    local library=$state/$1.so
    if [[ ! -e $library ]]; then
        command -v cc >/dev/null || die "cc: not found; install gcc ($1 is a small library)"
        cc -O2 -shared -fPIC -o "$library.$$" "$here/fabric.d/$1.c" -ldl ||
            die "fabric.d/$1.c does not compile; install libc6-dev, or report this"
        mv "$library.$$" "$library"
    fi
    wrapper_args+=(--preload "$library")
}

# deal_evenly: Hydra deals ranks out over the hosts alike, and cannot pass over one that is full.
deal_evenly() {
    local h share hosts=${#slots[@]}
    for h in "${!slots[@]}"; do
        share=$(((ranks + hosts - 1 - h) / hosts))
        ((share <= slots[h])) ||
            usage_error "--place cyclic --ppn $ppn: MPICH's launcher cannot pass over a full" \
                "host; expected --place block, equal numbers, or --mpi openmpi"
    done
}

# hydra_command OPTION...: Hydra, which the options tell how to reach a host.
hydra_command() {
    local h
    for h in "${!slots[@]}"; do
        echo "$name-h$h:${slots[h]}"
    done >"$run_dir/hostfile"
    command_line=("$launcher" "$@" -iface mgmt0 -f "$run_dir/hostfile" -n "$ranks")
    [[ $place == block ]] || command_line+=(-ppn 1)
}

mpich_command() {
    hydra_command -launcher ssh -launcher-exec "$here/fabric.d/agent"
    preload_own ucx-cures
}

mpich5_command() {
    mpich_command
}

# Intel MPI: Hydra as well, over libfabric's TCP, which has one rail per rank.
intel_command() {
    [[ $rail_use == affine ]] ||
        usage_error "--rails striped: a rank of Intel MPI uses one rail; expected affine"
    hydra_command -bootstrap ssh -bootstrap-exec "$here/fabric.d/agent"
}

# run_pids: the processes of this run.
run_pids() {
    grep -lszxF "FABRIC_RUN=$run_id" /proc/[0-9]*/environ | cut -d / -f 3 || true
}

# end_run: lets the daemons of a run that ended well finish, kills what is left, and clears what a
# killed rank may have left in shared memory, if no other run or exec is using the fabric.
end_run() {
    local tries node pids shm grace=$1
    {
        for ((tries = 0; tries < 250; tries++)); do
            pids=$(run_pids)
            [[ -n $pids ]] || break
            # shellcheck disable=SC2086 # one word per process
            ((tries < grace)) || kill -KILL $pids || true
            sleep 0.02
        done
        [[ -z $child ]] || wait "$child" || true
    } 2>/dev/null # the shell would report each launcher it sees killed
    rm -rf --one-file-system "$run_dir"
    flock --exclusive --nonblock "$lock" || return 0
    for node in $(node_list); do
        # Never without the mark that fabric.d/host leaves: by now the number may be another's.
        shm=/proc/$(cat "$state/pid.$name-$node" 2>/dev/null || true)/root/dev/shm
        [[ ! -e $shm/.fabric ]] || rm -rf --one-file-system "${shm:?}/"*
    done
}

ranks_run() {
    local launcher home='' run_id run_dir lock stderr child='' filter status=0
    local -a slots command_line watch=()
    SECONDS=0
    read_shape
    choose_launcher
    count_places
    [[ $rail_use == affine || $rail_use == striped ]] ||
        usage_error "--rails $rail_use: expected affine or striped"
    [[ $place == block || $place == cyclic ]] ||
        usage_error "--place $place: expected block or cyclic"
    command -v "${program[0]}" >/dev/null ||
        die "${program[0]}: no such program; it goes after --, with its path"

    [[ $mpi == openmpi* || $place == block ]] || deal_evenly

    exec {lock}<"$state/shape"
    flock --shared "$lock"
    run_dir=$(mktemp -d "$state/run.XXXXXX")
    run_id=$name/${run_dir##*/}
    trap 'end_run 0' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    "${mpi}_command"
    if [[ -n $flow_cap ]]; then
        preload_own flow-cap
        wrapper_args+=(--env "FABRIC_FLOW_CAP=$(($(rate_bits "$flow_cap") / 8))")
    fi
    command_line+=("${mpi_args[@]}" "$here/fabric.d/rank" "${wrapper_args[@]}"
        "$rail_use" "$rails" "${program[@]}")
    if [[ $verbose == yes ]]; then
        { printf 'fabric:'; printf ' %q' "${command_line[@]}"; echo; } >&2
    fi

    [[ -z $timeout ]] || watch=(timeout --foreground --kill-after=2 "$timeout")
    # Open MPI's launcher loses a race with its own child, harmlessly, and says so.
    exec {stderr}> >(exec sed -u '/ plm:[rs]sh: Warning: setpgid(.*) failed in parent/d' >&2)
    filter=$!
    # In the background, and waited for, so that a signal is acted on at once.
    (
        exec {lock}<&-
        FABRIC_RUN=$run_id enter net "${watch[@]}" "${command_line[@]}" 2>&"$stderr" {stderr}>&-
    ) <&0 &
    child=$!
    exec {stderr}>&-
    wait "$child" 2>/dev/null || status=$?
    trap - EXIT INT TERM HUP
    if [[ -n $timeout && $SECONDS -ge $timeout && ($status -eq 124 || $status -eq 137) ]]; then
        end_run 0
        wait "$filter" || true
        echo "fabric: run killed after $timeout s (--timeout)" >&2
        exit 124
    fi
    end_run 50
    wait "$filter" || true
    exit "$status"
}
