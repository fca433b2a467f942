# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# COLLSHIM_STORE: what one job measured, the next begins with; a bad file costs a line and nothing else.

store_head='# collshim store 1'

# stored NAME [NAME=VALUE...]: a job of two communicators of 4 ranks, one behind the other, and of some of two
stored() {
    right "$1" 4 COLLSHIM_MIN_BYTES=32768 COLLSHIM_STORE="$tmp/store" "${@:2}" -- "$programs/inherit" SEED
}

# recalled N: the communicators of N ranks that begin with what was found before, with COLLSHIM_LOG=info
recalled() {
    grep -c "guard: allreduce of 100000 bytes on $1 ranks: .*, as was found before" <<<"$err"
}
want_recalled() { # want_recalled N COMMUNICATORS
    [ "$(recalled "$1")" = "$2" ] || complain "$(recalled "$1") communicators of $1 ranks begin with what was found, wanted $2"
}

# Rows of the store serve the first communicator too, and a row is of several jobs.
want_store_used() {
    want_recalled 4 2
    want_store_line " jobs=([2-9]|1[0-9]) "
}

want_store_line() { # want_store_line PATTERN...: each a row's, which has a line of its own
    local pattern
    for pattern; do
        grep -qE -- "$pattern" "$tmp/store" || complain "no row '$pattern' in the store"
    done
}

smoke_store() {
    inherits
    rm -rf "$tmp/store"
    pushd "$tmp" >/dev/null || return
    stored "a job writes what it measured into the store, by relative names" COLLSHIM_STORE=store COLLSHIM_REPORT=report.json
    popd >/dev/null || return
    want_lines
    [ "$(jq .partial "$tmp/report.json")" != true ] || complain "the report is a partial one"
    [ "$(head -n 1 "$tmp/store")" = "$store_head" ] || complain "no store was made"
    want_store_line '^[A-Za-z0-9.]+/[^ ]+/1x4/[0-9a-f]{8} allreduce 0 64K [a-z_:]+ ppg=1 ratio=[0-9.]+ spread=[0-9.]+ jobs=1 day=[0-9]+$'
    finish

    stored "the next job begins with it, and adds to it" COLLSHIM_LOG=info
    want_store_used
    finish
}

stores() {
    # Rows for what no longer exists, a cut one, and no text at all, behind the good ones.
    { sed -n 's/ [a-z_]* ppg=/ gone_since ppg=/p' "$tmp/store"; printf 'x y\n%0600d\nMPI/1/1x2/0 allreduce 0 ' 0; head -c 300 /dev/urandom; } >"$tmp/odd"
    cat "$tmp/odd" >>"$tmp/store"
    stored "rows that cannot be used are left out" COLLSHIM_LOG=info
    want_store_used
    finish

    stored "COLLSHIM_CHOOSE=model ignores it" COLLSHIM_LOG=info COLLSHIM_CHOOSE=model
    want_recalled 4 0
    finish

    printf 'milk\nbread\n' >"$tmp/store"
    stored "a file that is no store stays as it is"
    want_lines "COLLSHIM_STORE: $tmp/store is no store: *" "COLLSHIM_STORE: $tmp/store is no store: *"
    [ "$(cat "$tmp/store")" = $'milk\nbread' ] || complain "the file has changed"
    finish

    rm -f "$tmp/store"
    mkfifo "$tmp/store"
    stored "a FIFO stops nobody"
    want_lines "COLLSHIM_STORE: $tmp/store: not a regular file; *" "COLLSHIM_STORE: $tmp/store: not a regular file; *"
    finish
    rm -f "$tmp/store"

    ln -s "$tmp/nowhere" "$tmp/store"
    stored "a symbolic link is not followed"
    want_lines "COLLSHIM_STORE: cannot write $tmp/store: a symbolic link, not a regular file; *"
    [ ! -e "$tmp/nowhere" ] || complain "it was followed"
    finish
    rm -f "$tmp/store"

    mkdir -m 1777 "$tmp/shared"
    stored "users share a folder, in which each has a file" COLLSHIM_STORE="$tmp/shared/"
    [ "$(head -n 1 "$tmp/shared/$(id -u).store")" = "$store_head" ] || complain "no store was made there"
    finish
    stored "the next job begins with it" COLLSHIM_STORE="$tmp/shared" COLLSHIM_LOG=info
    want_recalled 4 2
    finish
    stored "a folder that is not there" COLLSHIM_STORE="$tmp/none/store"
    want_lines "COLLSHIM_STORE: cannot write $tmp/none/store: no such directory; *"
    finish
}

# Within a job no file is needed (test/mpi/inherit.c).
inherits() {
    right "a communicator begins with what one like it has found, where all its ranks know the same" 4 \
        COLLSHIM_MIN_BYTES=32768 COLLSHIM_LOG=info -- "$programs/inherit" SEED
    want_recalled 4 1
    want_recalled 2 0
    finish

    right "the guard tries what the model finds, which costs do not, on all ranks alike" 4 COLLSHIM_MIN_BYTES=32768 \
        COLLSHIM_LOG=info COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@4Gbit link_shm:20MB/s' -- "$programs/inherit" SEED 1000
    [[ "$err" == *'on 4 ranks: linear may be faster by the model'* ]] || complain "linear was not tried"
    finish
}

# On a file system without room: the old store stays.
stores_full() {
    mkdir "$tmp/full"
    if ! mount -t tmpfs -o size=16k none "$tmp/full" 2>/dev/null; then
        skip "a store on a full disk" "file systems cannot be mounted here"
        rmdir "$tmp/full"
        return
    fi
    echo "$store_head" >"$tmp/full/store"
    dd if=/dev/zero of="$tmp/full/rest" bs=1k count=64 2>/dev/null || true
    stored "a store on a full disk stays as it was" COLLSHIM_STORE="$tmp/full/store"
    want_lines "COLLSHIM_STORE: cannot write $tmp/full/store: the file system is full; it is as before"
    [ "$(cat "$tmp/full/store")" = "$store_head" ] || complain "the store has changed"
    [ "$(find "$tmp/full" -name '.*' -type f | wc -l)" -eq 0 ] || complain "something is left behind"
    finish
    umount "$tmp/full"
    rmdir "$tmp/full"
}

cases_store() {
    smoke_store
    stores
    [ "$quick" -eq 1 ] || stores_full
}
