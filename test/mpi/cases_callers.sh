# shellcheck shell=bash disable=SC2154 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Call sites in the report: each place of the program once, in every language.

# want_sites FILTER: true of the report's list of sites
want_sites() {
    jq -e ".sites | $1" "$tmp/report.json" >/dev/null 2>&1 || complain "not so: .sites | $1
$(jq -c '.sites[] | [(.object | split("/")[-1]), .offset, .collective, .calls, .native, .rerouted]' "$tmp/report.json" 2>&1 | head -n 20)"
}

# want_places N COLLECTIVE: it is called from so many places of the program
want_places() {
    want_sites "[.[] | select((.object | endswith(\"/$(basename "${run[0]}")\")) and .collective == \"$2\") | .offset] | unique | length == $1"
}

want_same_calls() {
    jq -e '([.sites[].calls] | add) == ([.collectives[].calls] | add)' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "sites and collectives count different calls"
}

smoke_callers() {
    local f
    quiet "places of a C program" 3 COLLSHIM_MIN_BYTES=64K -- "$programs/callers"
    want_places 2 allreduce
    want_sites 'all(.[]; .calls == .native + .rerouted)'
    want_sites 'any(.[]; .calls == 120 and .reason == "smaller than COLLSHIM_MIN_BYTES" and .native_us_median > 0 and .native_us_median <= .native_us_p99)'
    want_sites 'any(.[]; .calls == 120 and .total_bytes_from == 262144 and .rerouted > 0 and .comm_ranks == 3 and .comm_nodes == 1)'
    jq -e '.job.nodes == 1 and (.job.program | endswith("/callers")) and .job.seconds > 0 and .changed.report != null' \
        "$tmp/report.json" >/dev/null || complain "the report does not know its job"
    want_same_calls
    finish

    for f in mpif_h mpi mpi_f08; do
        [ -x "$fortran/gather_$f" ] || continue
        begin "places of a Fortran program, gather_$f"
        launch 2 -- "$fortran/gather_$f"
        [ "$rc" -eq 0 ] || complain "exit status $rc"
        want_places 2 allgather
        want_places 2 alltoall
        finish
    done
}

cases_callers() {
    local f built=1

    smoke_callers
    right "table and places tell the same times" 3 COLLSHIM_MIN_BYTES=64K COLLSHIM_MODE=ab -- "$programs/callers"
    jq -e '[.sites[] | select(.collective == "allreduce" and .total_bytes_from == 262144)] as [$site] |
           .collectives[] | select(.collective == "allreduce") | .sizes[] | select(.total_bytes_from == 262144) |
           .rerouted_us_median == $site.rerouted_us_median and .native_us_median == $site.native_us_median and
           .rerouted_us_median > 0 and .native_us_median > 0 and .median_spread > 0' \
        "$tmp/report.json" >/dev/null || complain "the medians are not those of the only place"
    finish

    right "calls of several threads at once are all counted" 3 -- "$programs/threads" SEED 10
    want_same_calls
    finish

    right "calls that go both ways have no time of one way" 2 COLLSHIM_MODE=verify -- "$programs/callers"
    want_sites 'any(.[]; .rerouted > 40 and .rerouted_us_median == null and .rerouted_rank_s > 0 and .saved_rank_s == null)'
    finish

    quiet "places that are made at run time, 5,000 of them" 2 -- "$programs/callers" 1 many
    [ "$(uname -m)" != x86_64 ] || want_sites 'any(.[]; .object == "(code made at run time)" and .calls == 10000)'
    finish

    quiet "a place in a signal handler on another stack" 2 COLLSHIM_MIN_BYTES=64K -- "$programs/callers" 1 signal
    want_sites 'any(.[]; .calls == 82)'
    finish

    begin "places of a stripped program"
    strip -o "$tmp/stripped" "$programs/callers"
    launch 2 COLLSHIM_MIN_BYTES=64K -- "$tmp/stripped"
    want_right
    want_places 2 allreduce
    finish

    right "a job in which another rank alone calls from somewhere" 2 -- "$programs/callers" 1 last
    want_sites 'any(.[]; .collective == "allreduce" and .comm_ranks == 1 and .calls == 7)'
    finish

    quiet "a job that has used up all communicators" 2 COLLSHIM_MIN_BYTES=1T -- "$programs/callers" 1 full
    want_sites 'any(.[]; .calls >= 40)'
    finish

    begin "plugins that are closed, and others at their addresses"

    for f in left right; do
        # shellcheck disable=SC2086 # several words
        $compiler -w -O1 -shared -fPIC -DPLUGIN -Wl,--build-id -Wl,-soname,$f.so -o "$tmp/$f.so" "$here/plugins.c" 2>"$tmp/stderr" ||
            { complain "$(<"$tmp/stderr")"; built=0; }
    done
    if [ $built -eq 1 ]; then
        launch 2 COLLSHIM_MIN_BYTES=64KiB -- "$programs/plugins" "$seed" "$tmp/left.so" "$tmp/right.so"
        want_right
        want_lines
        for f in left right; do
            want_sites "[.[] | select(.object | endswith(\"/$f.so\")) | .calls] == [12]"
        done
    fi
    finish

    begin "a Python program's places are its extension's"
    if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null && [ "$family" = openmpi ]; then
        cat >"$tmp/script.py" <<'TXT'
from mpi4py import MPI
a, b = bytearray(1 << 18), bytearray(1 << 18)
for i in range(9):
    MPI.COMM_WORLD.Allreduce(a, b, op=MPI.MAX)
print(": right on ")
TXT
        launch 2 -- /usr/bin/python3 "$tmp/script.py"
        want_right
        want_sites 'any(.[]; (.object | contains("/mpi4py/MPI.")) and .collective == "allreduce" and .calls == 18)'
        [ "$(jq -r .job.script "$tmp/report.json")" = "$tmp/script.py" ] || complain "the script is not named"
        finish
    else
        skip "a Python program's places are its extension's" "no mpi4py of this family"
    fi
}
