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

run_exit_commands() {
    local command
    for command in "${exit_commands[@]}"; do eval "$command" || true; done
    awk -v below="$tmp/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | xargs -r umount
    rm -rf --one-file-system "$tmp"
}

exit_commands=()
trap run_exit_commands EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# raise_fabric NAME OPTION...: as `scripts/fabric up`; the fabric goes at exit. Returns 1 if it does not
# start; a fabric of that name that was up before stays.
raise_fabric() {
    at_exit "$fabric" down --name "$1"
    "$fabric" up --name "$@" || {
        exit_commands=("${exit_commands[@]:1}")
        return 1
    }
}

# The caller's own settings would be measured or tested instead.
clear_environment() {
    unset LD_PRELOAD "${!COLLSHIM_@}" OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
}
