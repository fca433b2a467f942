# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with who sources it
# SPDX-License-Identifier: BSD-3-Clause
#
# A job with helpers, all of which is killed at once, its launcher too. It runs as a user of its own, by which its
# processes, files and segments are known on a machine that does other things meanwhile.

# job_make FILE...: sets `job`, a folder that such a user may use, with copies of these files
job_make() {
    job_user=$((20000 + $$ % 40000))
    while getent passwd "$job_user" >/dev/null || pgrep -U "$job_user" >/dev/null; do # somebody's
        job_user=$((job_user + 1))
    done
    job=$tmp/job
    rm -rf "$job"
    mkdir "$job"
    cp "$@" "$job"
    chmod 711 "$tmp"
    chown -R "$job_user" "$job"
}

# job_possible: is there such a user?
job_possible() {
    [ "$(id -u)" -eq 0 ] && setpriv --reuid 20000 --regid 20000 --clear-groups true 2>/dev/null
}

# job_processes [others]: of the user's, those that live; all of them, or all but helpers
job_processes() {
    local pid name state
    for pid in $(pgrep -U "$job_user" || true); do
        read -r _ name state _ 2>/dev/null <"/proc/$pid/stat" || continue
        [ "$state" = Z ] || [ "$name${1:-}" = '(collshim-helper)others' ] || echo "$pid"
    done
}

# job_remains: sets `left` to what the user has still, if anything, once 5 seconds have passed. The library's
# own files are in the folder. A rank's UCX, killed as it makes a segment of System V, leaves it, and lets its group in;
# a helper's segment lets only its owner in. A page is UCX's trial of its hooks (nameless.h).
job_remains() {
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        [ -n "$(job_processes)" ] || break
        sleep 0.1
    done
    find /dev/shm /tmp -maxdepth 1 -user "$job_user" \( -name 'mpich_sh*_*' -o -name 'hydra_hwloc_xmlfile_*' \) -delete # MPICH's own
    left="$(job_processes | xargs)$(find /dev/shm /tmp -maxdepth 1 -user "$job_user" -printf ' %p')$(
        awk -v u="$job_user" 'NR > 1 && $8 == u && $3 % 100 == 0 && $4 > 4096 { printf " segment %d", $2 }' /proc/sysvipc/shm)"
    awk -v u="$job_user" 'NR > 1 && $8 == u { print $2 }' /proc/sysvipc/shm | while read -r id; do ipcrm -m "$id"; done
    # shellcheck disable=SC2046 # words are meant
    kill -KILL $(job_processes) 2>/dev/null || true
}

# job_killed others|all DELAY COMMAND...: so many seconds after the first helper is there, all but the helpers,
# or these as well. Sets `left`; returns 1 if there was no helper.
job_killed() {
    local whom=$1 delay=$2 launcher tries seen=1
    shift 2
    setpriv --reuid "$job_user" --regid "$job_user" --clear-groups env -C "$job" HOME="$job" TMPDIR="$job" UCX_POSIX_DIR="$job" "$@" \
        >"$tmp/said" 2>&1 </dev/null &
    launcher=$!
    disown # the shell need not tell of its end
    for ((tries = 0; tries < 3000; tries++)); do
        [ -z "$(pgrep -U "$job_user" -x collshim-helper)" ] || { seen=0 && break; }
        kill -0 "$launcher" 2>/dev/null || break
        sleep 0.01
    done
    sleep "$delay"
    for ((tries = 0; tries < 100; tries++)); do
        # shellcheck disable=SC2046 # words are meant
        kill -KILL $(job_processes "$whom") 2>/dev/null || break
    done
    job_remains
    return $seen
}
