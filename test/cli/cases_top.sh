# shellcheck shell=bash disable=SC2015,SC2154,SC2317 # A && B || C is meant; variables of test/cli/run.sh, which sources this; check calls these
# SPDX-License-Identifier: BSD-3-Clause
#
# `collshim top`: of a real job of two ranks, of one that is killed, of another user's, and of files that are not what
# they are called.

top_pids=()
# shellcheck disable=SC2329 # runs at the exit
top_end() { [[ ${#top_pids[@]} == 0 ]] || kill -KILL "${top_pids[@]}" 2>/dev/null || true; }
at_exit top_end

expect 0 "How to read the rails" "$collshim" top --help
expect 2 "--interval: 'soon' is not 0.1 to 3600 seconds" "$collshim" top --interval soon
expect 2 "--interval: '0' is not" "$collshim" top --interval 0
expect 2 "--interval: 'nan' is not" "$collshim" top --interval nan
expect 2 "one job or process at a time" "$collshim" top 1 2
expect 1 "no job or process no-such-job with the preload" "$collshim" top no-such-job
expect 1 "shares no counters" "$collshim" top $$

top_once() { "$collshim" top --once --interval 0.3 "$@"; }

# top_within TRIES COMMAND...: it succeeds within so many tenths of a second
top_within() {
    local tries
    for ((tries = 0; tries < $1; tries++)); do
        "${@:2}" >/dev/null 2>&1 && return
        sleep 0.1
    done
    "${@:2}"
}

# top_begin LAUNCHER COMMAND...: a job that runs until it is killed; sets `launcher`
top_begin() {
    "$@" >top.out 2>&1 &
    launcher=$!
    top_pids+=("$launcher")
    disown # the shell need not tell of its end
}

# Both ranks, and calls either way
top_runs() {
    top_once --json "$launcher" >top.json 2>top.err &&
        jq -e '.jobs | length == 1 and (.[0] | .library == "MPI" and .size == 2 and
               ([.processes[].rank] | sort) == [0, 1] and (.program | endswith("/callers")) and
               (.collectives[] | select(.collective == "allreduce") |
                .calls > .rerouted and .rerouted > 0 and .rerouted_bytes == .rerouted * 262144 and
                .rerouted_per_s > 0 and .native_per_s > 0 and .rerouted_bytes_per_s > 0 and
                (.algorithm | length > 0) and .reason == "smaller than COLLSHIM_MIN_BYTES"))' top.json ||
        { cat top.json top.err top.out; return 1; }
}

top_job() { # FAMILY LAUNCHER...: two ranks
    local family=$1 ranks pid
    local program=${collshim%/*}/$family/test/mpi/callers
    shift
    if [[ ! -x $program ]] || ! type "$1" >/dev/null 2>&1; then
        skip "collshim top sees a job of $family" "$program or $1 is missing"
        return
    fi
    top_begin env COLLSHIM_CHOOSE=always "$@" -np 2 "$collshim" exec -- "$program" 1 forever
    check "collshim top sees a job of $family" top_within 150 top_runs
    pid=$(jq '.jobs[0].processes[0].pid' top.json)
    find "/proc/$pid/fd" -lname '*collshim-counters*' -exec cp {} top.header \;
    check "$family: a rank's number names it too" \
        eval "top_once --json $pid | jq -e '.jobs[0].processes | map(.pid) == [$pid]'"
    check "$family: as text" eval "top_once $launcher | grep -E '^  allreduce .* [0-9]+ .*; smaller than'"
    check "$family: again and again, a line of JSON each, until the job ends" top_until_killed
    check "$family: killed, it leaves nothing" top_gone
}

top_has_lines() { [[ $(wc -l <top.lines) -ge 2 ]]; }
top_ranks_ended() { ! pgrep -x callers | grep -xF -e "${ranks[0]}" -e "${ranks[1]}"; }

top_until_killed() {
    : >top.lines # before the reader starts: those of the job before would pass for its own
    "$collshim" top --interval 0.3 --json "$launcher" >>top.lines &
    local reader=$!
    top_pids+=("$reader")
    top_within 100 top_has_lines || return
    mapfile -t ranks < <(jq -s '.[0].jobs[0].processes[].pid' top.lines)
    kill -KILL "$launcher" "${ranks[@]}"
    wait "$reader" && jq -se 'all(.jobs | length == 1)' top.lines
}

top_gone() {
    top_within 100 top_ranks_ended || return
    run 1 "$collshim" top "$launcher" && ! find /dev/shm /tmp -maxdepth 1 -name '*collshim-counters*' | grep .
}

top_job openmpi "$private_shm" mpirun.openmpi --oversubscribe
top_job mpich "$private_shm" mpiexec.mpich

# The rail that both of the topology's nodes have on this host; what it sent, it also received
top_sees_rail() {
    top_once --json "$launcher" >top.json && jq -e --arg host "$(hostname)" '.jobs[0].rails | length == 1 and
        (.[0] | .host == $host and .rail == 0 and .calls > 0 and .sent_bytes > 0 and .received_bytes > 0 and
         .sent_share == 1 and .received_share == 1 and .sent_bytes_per_s > 0 and .sent_bytes_per_s_in_calls > 0 and
         .can_receive_bytes_per_s == 1000000000 and .could_send_bytes_per_s == null and .changed_at_call == null)' top.json &&
        top_once "$launcher" | grep -E "^  $(hostname) +0 .* 100% .* 8000.0( |$)" || { cat top.json top.out; return 1; }
}
if [[ -x ${collshim%/*}/mpich/test/mpi/callers ]] && type mpiexec.mpich >/dev/null 2>&1; then
    top_begin env COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:2 rank:1 rail:1@8Gbit' COLLSHIM_ALGORITHM=allreduce=parallel_rings \
        "$private_shm" mpiexec.mpich -np 2 "$collshim" exec -- "${collshim%/*}/mpich/test/mpi/callers" 1 forever
    check "collshim top sees bytes per rail, against what the rail can do" top_within 100 top_sees_rail
    mapfile -t ranks < <(jq '.jobs[].processes[].pid' top.json)
    kill -KILL "$launcher" "${ranks[@]}" 2>/dev/null || true
else
    skip "collshim top sees bytes per rail" "test/mpi/callers or mpiexec.mpich is missing"
fi

top_nccl() {
    top_once --json "$launcher" >top.json && jq -e '.jobs | length == 1 and (.[0] | .library == "NCCL" and .size == 4 and
        (.processes | length == 4) and (.collectives | length > 0))' top.json || { cat top.json top.out; return 1; }
}
if [[ -x ${collshim%/*}/test/nccl_ranks && -e ${collshim%/*}/libcollshim-nccl.so ]]; then
    top_begin env LD_LIBRARY_PATH="${collshim%/*}/ncclsim:${collshim%/*}/gpusim" GPUSIM=devices=8 \
        LD_PRELOAD="${collshim%/*}/libcollshim.so" "${collshim%/*}/test/nccl_ranks" --ranks 4 --count 500003 reductions
    check "collshim top sees a job of NCCL" top_within 100 top_nccl
    mapfile -t ranks < <(jq '.jobs[].processes[].pid' top.json)
    kill -KILL "$launcher" "${ranks[@]}" 2>/dev/null || true
else
    skip "collshim top sees a job of NCCL" "built without the headers of CUDA or NCCL"
fi

# A process's own file under the name of the counters: header.layout 2 is this build's, but not the rest.
cat >memfd.py <<'PY'
import os, struct, sys, time
what = sys.argv[1]
fd = os.memfd_create("collshim-counters")
head = lambda layout, at: struct.pack("<16s32sIIQQiiii16s", b"collshim counts", b"9.9\x1b[31m\xc2\x9b\xe2\x80\xae", layout, at, 0, 1 << 62, 1, 0, 2, 0, b"MPI").ljust(256, b"\0")
os.write(fd, {"empty": b"", "noise": os.urandom(1 << 16), "short": b"collshim counts\0",
              "beyond": open("top.header", "rb").read()[:52] + struct.pack("<I", 1 << 31) + open("top.header", "rb").read()[56:256],
              "foreign": head(2, 4096),
              "later": head(3, 1 << 31), "many": open("top.header", "rb").read()}[what])
for i in range(int(sys.argv[2])):
    more = os.memfd_create("collshim-counters")
    os.write(more, open("top.header", "rb").read())
print("there", flush=True)
time.sleep(600)
PY
# Among processes of its own, if that can be: other jobs of the machine may be of another build.
alone=(unshare --pid --fork --kill-child --mount-proc)
"${alone[@]}" true 2>/dev/null || alone=()
top_memfd() { # WHAT TEXT: it is named so, and no job
    # shellcheck disable=SC2016 # the inner shell's
    "${alone[@]}" bash -c ': >memfd.out; python3 memfd.py "$1" 0 >>memfd.out & pid=$!
        for ((tries = 0; tries < 100; tries++)); do ! grep -q there memfd.out || break; sleep 0.1; done
        "$2" top --once --interval 0.3 >top.text; "$2" top no-such-job 2>top.none; status=$?
        kill -KILL $pid; exit $status' top_memfd "$1" "$collshim"
    [[ $? == 1 && $(wc -l <top.none) == 1 ]] || return
    grep -F -- "$2" top.text && ! grep '^Job' top.text && ! grep -P '\x1b' top.text
}
if type python3 >/dev/null 2>&1; then
    [[ -e top.header ]] || head -c 256 /dev/zero >top.header
    for what in empty noise short beyond; do
        check "collshim top: $what under the counters' name" top_memfd "$what" "no counters under their name: 1 process"
    done
    check "collshim top: counters of another build are named" \
        top_memfd foreign "of another build of collshim, 9.9?[31m??: 1 process"
    check "collshim top: a later layout is named" top_memfd later "of another build of collshim, 9.9?[31m??: 1 process"
else
    skip "collshim top: files that are not what they are called" "python3 is missing"
fi

top_many() { # files that one process has made, each as a rank's
    : >memfd.out
    python3 memfd.py many 40 >>memfd.out &
    top_pids+=("$!")
    top_within 100 grep -q there memfd.out && top_once --json $! >top.json && jq -e '.jobs[0].processes | length == 16' top.json
}
if type python3 >/dev/null 2>&1 && [[ $(wc -c <top.header) -gt 4096 ]]; then
    check "collshim top: a process shows so many rows at most" top_many
fi

# Another user's process cannot be looked into: neither that of the user `nobody` into ours, nor the other way, except by
# root.
top_as_nobody() {
    local got=0
    setpriv --reuid 65534 --regid 65534 --clear-groups "$bare/collshim" top "$1" >out 2>err || got=$?
    [[ $got == 1 && $(wc -l <err) == 1 ]] && grep -F "$2" err || { cat out err; return 1; }
}
if [[ $(id -u) == 0 ]] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
    bare=$(mktemp -d /tmp/collshim-top.XXXXXX) # $tmp is closed to others
    at_exit rm -rf "$bare"
    chmod 755 "$bare"
    cp "$collshim" "$bare"
    check "collshim top: another user's process is not readable" \
        top_as_nobody $$ "process $$: not readable: it is of user 0"
    check "collshim top: another user's jobs are not readable" top_as_nobody 4711x "of other users: not readable"
else
    skip "collshim top: another user's process is not readable" "needs root and setpriv"
fi
