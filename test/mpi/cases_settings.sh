# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Settings, good and bad: never more than one clear line each, always right results.

# native NAME REASON [NAME=VALUE...]: no line; all calls run natively for that reason
native() {
    quiet "$1" 3 "${@:3}" -- "$programs/ordinary"
    want_counted ".native[\"$2\"]"
    want_number allgather .rerouted -eq 0
    finish
}

# unfit NAME PATTERN [NAME=VALUE...]: one line, and all natively
unfit() {
    right "$1" 3 "${@:3}" -- "$programs/ordinary"
    want_lines "$2"
    want_all_native "COLLSHIM_TOPOLOGY does not fit"
    want_number allgather .calls -ge "$(expected allgather)"
    finish
}

# Every way to be wrong: test/unit/test_settings.c.
bad_values() {
    right "three bad settings: a line each" 3 COLLSHIM_MODE=sideways COLLSHIM_LOUD=1 COLLSHIM_ALGORITHM=allgather=magic -- \
        "$programs/ordinary"
    want_lines "COLLSHIM_MODE=sideways: expected on, off, ab or verify; mode stays on (default)" \
        "COLLSHIM_LOUD: no such setting; *" "COLLSHIM_ALGORITHM: no algorithm 'magic' for allgather; *"
    want_rerouted
    finish

    quiet "COLLSHIM_LOG=error keeps quiet about a bad setting" 3 COLLSHIM_LOG=error COLLSHIM_MODE=sideways -- \
        "$programs/ordinary"
    finish
}

settings_file() {
    local file=$tmp/settings.yaml

    printf 'chunk_bytes: 100\nalgorithm: allgatherv=native\n' >"$file"
    quiet "a settings file is read" 3 COLLSHIM_CONFIG="$file" -- "$programs/ordinary"
    want_number allgather .rerouted -eq "$(expected allgather)"
    want_number allgatherv '.native["COLLSHIM_ALGORITHM says native"]' -eq "$(expected allgatherv)"
    finish
}

topologies() {
    unfit "a topology of more ranks than there are" \
        "COLLSHIM_TOPOLOGY: it describes 10 ranks on 5 nodes, but there are 3 ranks (all ranks run natively)" \
        COLLSHIM_TOPOLOGY='node:5 gpu:2'
    unfit "a topology with a wrong word" "COLLSHIM_TOPOLOGY: nod:3: no such word; the nearest is node*" \
        COLLSHIM_TOPOLOGY='nod:3'
    unfit "a topology file that is not there" "COLLSHIM_TOPOLOGY: $tmp/none.topo: *" \
        COLLSHIM_TOPOLOGY="$tmp/none.topo"
    printf '# three hosts\nnode:3\n' >"$tmp/three.topo"
    quiet "a topology from a file" 3 COLLSHIM_TOPOLOGY="$tmp/three.topo" -- "$programs/ordinary"
    want_rerouted
    finish
}

profiles() {
    local file=$tmp/machine.profile

    printf '# of a test\nallgather 1x3 * native\nallgatherv * * parallel_rings chunk=100\n' >"$file"
    quiet "a tuning profile says which collective runs how" 3 COLLSHIM_PROFILE="$file" -- "$programs/ordinary"
    want_number allgather '.native["the tuning profile says native"]' -eq "$(expected allgather)"
    want_number allgatherv .rerouted -eq "$(expected allgatherv)"
    want_number allgatherv '.sizes[0].algorithms.parallel_rings' -gt 0
    finish

    quiet "COLLSHIM_ALGORITHM comes before the profile" 3 COLLSHIM_PROFILE="$file" \
        COLLSHIM_ALGORITHM=allgather=parallel_rings -- "$programs/ordinary"
    want_rerouted
    finish

    printf 'allgather 4x* * native\nallgther * * native\nallgatherv * * paralel_rings\n' >"$file"
    right "wrong rows of a profile cost a line each, and rows of other shapes do not count" 3 COLLSHIM_PROFILE="$file" -- \
        "$programs/ordinary"
    want_lines "$file:2: no collective 'allgther'; the nearest is allgather *" \
        "$file:3: no algorithm 'paralel_rings' for allgatherv; * the nearest is parallel_rings *"
    want_rerouted
    finish

    right "a profile that is not there" 3 COLLSHIM_PROFILE="$tmp/none.profile" -- "$programs/ordinary"
    want_lines "$tmp/none.profile: no such file; COLLSHIM_PROFILE must name *"
    want_rerouted
    finish

    # One path, another content on each host, as /tmp may have it.
    printf 'allgather * * native\n' >"$tmp/a.profile"
    begin "profiles of the same path that differ between ranks"
    # shellcheck disable=SC2016 # for the ranks' shell
    launch_apart 3 COLLSHIM_PROFILE=/proc/self/fd/99 PROFILE="$tmp/a.profile" -- \
        COLLSHIM_PROFILE=/proc/self/fd/99 PROFILE="$file" -- \
        bash -c 'exec "$0" 99<"$PROFILE"' "$programs/ordinary"
    want_right
    [ "$(grep -c '^collshim: settings differ between ranks: .rows of COLLSHIM_PROFILE ' <<<"$err")" -eq 1 ] ||
        complain "no line on the rows that differ"
    want_all_native "the ranks did not agree on the settings"
    finish
}

# A composition as text serves if it is right, and if all ranks have read the same one.
texts() {
    local file=$tmp/a.text
    printf 'multicast(0; 1)\n' >"$tmp/one.text"
    printf 'for i in all { multicast(i; all; block i) }\n' >"$file"
    printf 'allgather * * text:%s\nallgatherv * * text:%s chunk=100\n' "$file" "$file" >"$tmp/texts.profile"
    quiet "a profile names a composition as text" 3 COLLSHIM_PROFILE="$tmp/texts.profile" -- "$programs/ordinary"
    want_rerouted
    want_number allgather '.sizes[0].algorithms.text' -gt 0
    finish

    right "a text that is no allgather" 3 COLLSHIM_ALGORITHM="allgather=text:$tmp/one.text" -- "$programs/ordinary"
    want_lines "allgather=text($tmp/one.text@*) on 3 ranks: $tmp/one.text:1:1: rank 0 sends what it does not have: block 1 \
(it runs natively)"
    want_number allgather .rerouted -eq 0
    finish

    printf 'multicast(0; 1\n' >"$tmp/two.text"
    right "a text that cannot be read" 3 COLLSHIM_ALGORITHM="allgather=text:$tmp/two.text" -- "$programs/ordinary"
    want_lines "COLLSHIM_ALGORITHM: $tmp/two.text:2:1: the end; expected ')'"
    finish

    begin "texts of the same path that differ between ranks"
    # shellcheck disable=SC2016 # for the ranks' shell
    launch_apart 3 COLLSHIM_ALGORITHM=allgather=text:/proc/self/fd/99 TEXT="$file" -- \
        COLLSHIM_ALGORITHM=allgather=text:/proc/self/fd/99 TEXT="$tmp/one.text" -- \
        bash -c 'exec "$0" 99<"$TEXT"' "$programs/ordinary"
    want_right
    [ "$(grep -c '^collshim: settings differ between ranks: .recipes and texts of COLLSHIM_ALGORITHM ' <<<"$err")" -eq 1 ] ||
        complain "no line on the texts that differ"
    want_all_native "the ranks did not agree on the settings"
    finish
}

# A profile that scripts/tune wrote is one that a job takes without a word.
tuned() {
    local file=$tmp/tuned.profile log=$tmp/tune.log start=(--mpi "$family" --ranks 2)

    [ "$family" != abi ] || start=(--mpi abi --launch "$launcher -n 2")
    begin "scripts/tune writes a profile that a job takes"
    if ! "$private_shm" timeout -k 5 "$limit" "$root/scripts/tune" --build "$build" "${start[@]}" \
        --collectives allgather,allreduce --algorithms linear,lane --sizes 4K,8K --chunks 0,1K --repetitions 2 --output "$file" \
        >"$log" 2>&1; then
        complain "scripts/tune failed: $(tail -n 3 "$log")"
    fi
    [ "$(grep -cE '^(allgather|allreduce)  1x2  ' "$file")" -eq 4 ] || complain "not 4 rows: $(cat "$file" "$log")"
    [ "$(jq -s length "$file.measured")" -eq 16 ] || complain "not 16 measurements"
    launch 2 COLLSHIM_MIN_BYTES=1 COLLSHIM_PROFILE="$file" -- "$programs/ordinary"
    want_right
    want_lines
    finish
}

left_native() {
    local collective
    native "calls smaller than the default limit" "smaller than COLLSHIM_MIN_BYTES" COLLSHIM_MIN_BYTES=
    native "one rank per host" "nothing to gain on this topology" COLLSHIM_MIN_BYTES=1 \
        COLLSHIM_TOPOLOGY=node:3 COLLSHIM_CHOOSE=always
    native "algorithms set to native" "COLLSHIM_ALGORITHM says native" \
        COLLSHIM_ALGORITHM=allgather=native,allgatherv=native

    right "the first call of each collective on a communicator is the library's" 3 COLLSHIM_MIN_BYTES=1 -- \
        "$programs/ordinary"
    for collective in allgather allgatherv; do # on three communicators
        want_number $collective \
            '.native["the first call of its collective on this communicator is the library'"'"'s"]' -eq 3
    done
    finish

    right "COLLSHIM_LOG=info gives a reason once, from rank 0" 3 COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=64KiB -- \
        "$programs/ordinary"
    want_lines "allgather runs natively: smaller than COLLSHIM_MIN_BYTES" \
        "allgatherv runs natively: smaller than COLLSHIM_MIN_BYTES" \
        "bcast runs natively: smaller than COLLSHIM_MIN_BYTES" \
        "reduce runs natively: smaller than COLLSHIM_MIN_BYTES"
    finish
}

without_backend() {
    begin "without its backend the library says so once and is inert"
    mkdir -p "$tmp/lone"
    cp "$build/libcollshim.so" "$tmp/lone"
    preload=$tmp/lone/libcollshim.so
    launch 3 -- "$programs/ordinary"
    want_right
    want_lines "MPI runs natively: *libcollshim-$family.so is missing; *"
    want_no_report
    finish
}

# apart NAME PATTERN A... -- B...: the last of three ranks has other settings
apart() {
    begin "$1"
    local pattern=$2
    shift 2
    launch_apart 3 "$@" -- "$programs/ordinary"
    want_right
    want_lines "$pattern"
    if [ "$1" = COLLSHIM_MODE=off ]; then # on rank 0
        want_no_report
    else
        want_all_native "the ranks did not agree on the settings"
    fi
    finish
}

different_settings() {
    apart "a size that differs between ranks" \
        "settings differ between ranks: 'min_bytes 4KiB' on rank 2, 'min_bytes 8KiB' on rank 0; *" \
        COLLSHIM_MIN_BYTES=8K -- COLLSHIM_MIN_BYTES=4K
    apart "a topology that differs between ranks" \
        "settings differ between ranks: 'topology node:1 rank:3' on rank 2, 'topology node:3' on rank 0; *" \
        COLLSHIM_TOPOLOGY=node:3 -- COLLSHIM_TOPOLOGY='node:1 rank:3'
    apart "mode off on all but the last rank" \
        "settings differ between ranks: 'mode on' on rank 2, 'mode off' *" COLLSHIM_MODE=off -- COLLSHIM_MODE=on
    apart "a bad value on the last rank only" \
        "rank 2 and rank 0 found different problems in their settings; *" \
        COLLSHIM_MODE=on -- COLLSHIM_MODE=sideways

    begin "a log level may differ between ranks"
    launch_apart 3 COLLSHIM_LOG=warn -- COLLSHIM_LOG=error -- "$programs/ordinary"
    want_right
    want_lines
    want_rerouted
    finish
}

strict() {
    local bad
    for bad in COLLSHIM_MODE=sideways COLLSHIM_TOPOLOGY=node:9; do
        begin "COLLSHIM_STRICT=1 with $bad: MPI_Init ends the job"
        launch 3 COLLSHIM_STRICT=1 $bad -- "$programs/ordinary"
        [ "$rc" -ne 0 ] || complain "exit status 0"
        ! grep -q '^ordinary:' <<<"$out$err" || complain "the program went on behind MPI_Init"
        want_lines "*${bad%%=*}*" "COLLSHIM_STRICT=1: the job ends because of the settings above"
        finish
    done
}

# Ranks without the preload would never answer ours. The others know at once, whichever are bare.
missing_ranks() {
    local bare limit=60 # nobody is waited for
    for bare in '2 0' '2 1' '5 0' '5 1' '5 3' '5 4' '5 0,3' '5 1,2,3,4' '5 0,1,2,3' '9 4' '9 0,8'; do
        right "of ${bare% *} ranks, without the preload: ${bare#* }" "${bare% *}" -- "$here/tool/bare.sh" "${bare#* }" \
            "$programs/ordinary"
        grep -q 'collshim: rank [0-9]* has not loaded collshim, all run natively; LD_PRELOAD' <<<"$err" ||
            complain "no line names a rank that has not loaded collshim"
        [[ $bare == *' 0'* ]] || want_all_native "not every rank has loaded collshim"
        finish
    done
}

# Hydra is the one server that is spoken to over PMI_FD. Open MPI's library does not use it.
pmi_servers() {
    local server=("$here/tool/pmi_server.py")
    [ "$family" = openmpi ] || return 0
    begin "a PMI server that is not Hydra hears nothing"
    settle
    command=(env "${settled[@]}" "${server[@]}" slurmstepd answer "$programs/ordinary")
    capture
    want_right
    grep -q '^asked:' <<<"$out" && complain "it was asked: $(grep -m 1 '^asked:' <<<"$out")"
    finish

    begin "Hydra hears one announcement"
    command=(env "${settled[@]}" "${server[@]}" hydra_pmi_proxy answer "$programs/ordinary")
    capture
    want_right
    [ "$(grep '^asked:' <<<"$out" | sed 's/^asked: cmd=//')" = "init pmi_version=1 pmi_subversion=1
get_my_kvsname
put kvsname=kvs_7 key=collshim-0 value=$("$build/collshim" --version | cut -d " " -f 2)" ] || complain "it was asked something else"
    finish

    local how
    for how in close deaf; do
        begin "a Hydra that does not answer ($how)"
        command=(env "${settled[@]}" "${server[@]}" hydra_pmi_proxy "$how" "$programs/ordinary")
        capture
        want_right
        finish
    done
}

# An answer that is late, and waits that signals interrupt, are no answer that a rank is absent.
slow_hydra() {
    [ "$kin" = mpich ] || return 0
    begin "a Hydra that answers late"
    cc -O1 -shared -fPIC -o "$tmp/slow_hydra.so" "$here/tool/slow_hydra.c" 2>"$tmp/stderr" || complain "$(<"$tmp/stderr")"
    preload=$build/libcollshim.so:$tmp/slow_hydra.so
    launch 3 SLOW_MS=300 -- "$programs/ordinary"
    want_right
    want_lines
    want_rerouted
    finish
}

# Where the library has a part: how MPI_Init fails, what ranks hear of each other, and how they are started.
smoke_settings() {
    bad_values
    without_backend
    apart "mode off on the last rank only" "settings differ between ranks: 'mode off' on rank 2, 'mode on' *" \
        COLLSHIM_MODE=on -- COLLSHIM_MODE=off
    strict
    tuned
    missing_ranks
    pmi_servers
    slow_hydra
}

cases_settings() {
    smoke_settings
    settings_file
    topologies
    profiles
    texts
    left_native
    different_settings
    quiet "COLLSHIM_STRICT=1 with good settings" 3 COLLSHIM_STRICT=1 -- "$programs/ordinary"
    want_rerouted
    finish
}
