# shellcheck shell=bash disable=SC2034 # variables of the scripts that source it
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by suites (test/tap.sh) and benches (bench/lib.sh): a folder and hosts that go when the script ends, also
# when a signal ends it.
#
# Sourcing sets `root`, the repository; `fabric` and `private_shm`, commands; `tmp`, a folder. TMPDIR is that
# folder, so it takes along what launchers leave. Mounts below it are unmounted.

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
fabric=$root/scripts/fabric
private_shm=$root/scripts/private-shm
tmp=$(mktemp -d)
export TMPDIR=$tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# at_exit COMMAND...: runs when the script ends. The last one given runs first.
at_exit() {
    exit_commands=("$(printf '%q ' "$@")" "${exit_commands[@]}")
}

# own_jobs: sets `jobs_left` to the processes below this shell
own_jobs() {
    ps -eo pid=,ppid=,stat=,comm= >"$tmp/processes" || true
    jobs_left=$(awk -v shell=$$ '$3 !~ /^Z/ && $4 != "ps" { parent[$1] = $2 }
        END {
            below[shell] = more = 1
            while (more) {
                more = 0
                for (p in parent) if (!(p in below) && parent[p] in below) { below[p] = more = 1; print p }
            }
        }' "$tmp/processes")
}

# A signal to this shell alone leaves its jobs: launchers get SIGTERM, and end their ranks.
end_jobs() {
    local tries signal=TERM
    for ((tries = 0; tries < 50; tries++)); do
        own_jobs
        [ -n "$jobs_left" ] || return 0
        [ "$tries" -lt 40 ] || signal=KILL
        # shellcheck disable=SC2086 # several numbers
        [ $((tries % 40)) -ne 0 ] || kill -"$signal" $jobs_left 2>/dev/null || true
        sleep 0.1
    done
}

run_exit_commands() {
    local command
    end_jobs
    for command in "${exit_commands[@]}"; do eval "$command" || true; done
    awk -v below="$tmp/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | xargs -r umount
    rm -rf --one-file-system "$tmp"
}

exit_commands=()
# It runs at SIGINT, SIGTERM and SIGHUP too. Traps of their own would wait for the command that runs.
trap run_exit_commands EXIT

# raise_fabric NAME OPTION...: as `scripts/fabric up`; the fabric goes at exit, or with the next one if this
# script is killed. Returns 1 if it does not start; a fabric of that name that was up before stays.
raise_fabric() {
    at_exit "$fabric" down --name "$1"
    "$fabric" up --owner $$ --name "$@" || {
        exit_commands=("${exit_commands[@]:1}")
        return 1
    }
}

# The caller's own settings would be measured or tested instead.
clear_environment() {
    unset LD_PRELOAD "${!COLLSHIM_@}" OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
}
