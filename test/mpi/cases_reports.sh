# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# COLLSHIM_REPORT naming anything: what cannot take a report costs one line, and nothing is touched.

# no_report WHAT PATH REASON: one line says why, the job ends well, and the folder is as before
no_report() {
    local folder before
    folder=$(dirname "$2")
    before=$(ls -lA "$folder" 2>&1) || true
    right "a report into $1" 2 COLLSHIM_REPORT="$2" -- "$programs/ordinary"
    want_lines "COLLSHIM_REPORT: cannot write $2: $3"
    [ "$folder" = /dev ] || [ "$(ls -lA "$folder" 2>&1 || true)" = "$before" ] || complain "$folder has changed: $(ls -lA "$folder")"
    finish
}

# The report names the rank that came last in each Allreduce by the program's own clock, and its trace shows that.
want_late() {
    [ "$(jq -r '.trace[] | select(.collective == "allreduce") | "\(.call) \(.late)"' "$tmp/report.json" 2>&1)" = \
        "$(sed -nE 's/^call ([0-9]+): delayed [0-9]+, last ([0-9]+),.*/\1 \2/p' <<<"$out")" ] ||
        complain "other ranks are named: $(jq -c '.trace[] | select(.collective == "allreduce")' "$tmp/report.json" 2>&1)"
    jq -e '(.by_rank | length) == 3 and any(.sites[]; .collective == "barrier" and .calls == 30 and .waiting.calls == 10) and
        any(.sites[]; .collective == "allreduce" and .waiting.seconds > 0.5) and
        all(.sites[]; .waiting.last_rail == [])' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "not so: $(jq -c '.by_rank, .sites[].waiting' "$tmp/report.json" 2>&1)"
    "$build/collshim" report "$tmp/report.json" --trace "$tmp/trace.json" 2>&1 | grep -q '% of this allreduce .* is waiting for ' ||
        complain "collshim report does not tell"
    jq -e '.traceEvents | ([.[] | select(.name == "thread_name")] | length) == 3 and ([.[] | select(.ph == "s")] | length) >= 20' \
        "$tmp/trace.json" >/dev/null 2>&1 || complain "no trace: $(head -c 300 "$tmp/trace.json" 2>&1)"
}

smoke_reports() {
    local place=$tmp/places

    mkdir -p "$place"
    begin "a report in place of a file"
    echo old >"$place/r.json"
    chmod 640 "$place/r.json"
    launch 2 COLLSHIM_REPORT="$place/r.json" -- "$programs/ordinary"
    want_right
    want_lines
    jq -e .collectives "$place/r.json" >/dev/null 2>&1 || complain "it is no report"
    [ "$(stat -c %a "$place/r.json")" = 640 ] || complain "its permissions are $(stat -c %a "$place/r.json")"
    rm "$place/r.json"
    finish

    quiet "a report on stdout" 2 COLLSHIM_REPORT=/dev/stdout -- "$programs/ordinary"
    [ "$(sed -n '/^{$/,/^}$/p' <<<"$out" | jq -r '.ranks')" = 2 ] || complain "it is not there, or not whole"
    finish

    quiet "the rank that made the others wait is named" 3 -- "$programs/late" SEED 10 50000
    want_late
    finish

    begin "a job that is killed leaves what was counted so far"
    limit=3 launch 2 -- "$programs/callers" 1 forever
    for _ in {1..100}; do # its ranks end behind their launcher, and write until then
        pgrep -f "^$programs/callers 1 forever" >/dev/null || break
        sleep .1
    done
    complaints= # that it was ended is meant
    want_lines
    jq -e '.partial and .counts_are == "those of rank 0 so far" and .job.seconds >= 1 and .sites[0].calls > 40 and
        any(.collectives[]; .calls > 40)' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "no readable report: $(head -c 300 "$tmp/report.json" 2>&1)"
    compgen -G "$tmp/.collshim-*" >/dev/null && complain "files are left beside it"
    finish
}

cases_reports() {
    local place=$tmp/places

    smoke_reports
    mkdir -p "$place/folder"
    mkfifo "$place/fifo"
    echo precious >"$place/target"
    ln -s target "$place/link"
    ln -s nowhere "$place/dangling"
    no_report "a folder that is not there" "$tmp/none/r.json" "no such directory"
    no_report "a FIFO that nobody reads" "$place/fifo" "a FIFO, not a regular file"
    no_report "a symbolic link" "$place/link" "a symbolic link, not a regular file"
    no_report "a symbolic link to nothing" "$place/dangling" "a symbolic link, not a regular file"
    no_report "a folder that is not there, as a spool" "$place/none/" "no such directory"
    no_report "a device" /dev/full "a device, not a regular file"
    if mount -t tmpfs -o size=8k none "$place/folder" 2>/dev/null; then
        echo old >"$place/folder/r.json"
        cat /dev/zero >"$place/folder/filling" 2>/dev/null || true
        no_report "a full file system" "$place/folder/r.json" "the file system is full"
        mount -o remount,ro "$place/folder"
        no_report "a file system that is read-only" "$place/folder/r.json" "the file system is read-only"
        umount "$place/folder"
    else
        skip "a report into a full file system" "mounting one needs root"
    fi

    quiet "a report that nobody wants" 2 COLLSHIM_REPORT=/dev/null -- "$programs/ordinary"
    [ -c /dev/null ] || complain "/dev/null is no device any more"
    finish

    quiet "a report says what rails carried" 4 COLLSHIM_CHOOSE=always \
        COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,25Mbit' \
        COLLSHIM_ALGORITHM=allreduce=parallel_rings,bcast=parallel_rings -- "$programs/callers"
    jq -e --arg host "$(hostname)" '.rails_not_listed == 0 and (.rails | map([.host, .rail, .ranks]) == [[$host, 0, 2], [$host, 1, 2]] and
        all(.calls > 0 and .sent_bytes > 0 and
            .sent_bytes_per_s > 0 and .changed_at_call == null and .could_send_bytes_per_s == null) and
        (map(.sent_bytes) | add) == (map(.received_bytes) | add) and map(.can_send_bytes_per_s) == [12500000, 3125000] and (map(.sent_share) | add | . > 0.999 and . < 1.001) and
        .[0].sent_bytes > 2 * .[1].sent_bytes)' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "not so: $(jq -c '.rails[]' "$tmp/report.json" 2>&1)"
    "$build/collshim" report --wide "$tmp/report.json" 2>&1 |
        grep -q '^  Rail 1 of .* carries 25 Mbit/s where another of this host carries 100; 2[0-9] % of the' ||
        complain "collshim report does not tell: $("$build/collshim" report --wide "$tmp/report.json" 2>&1 | tail -n 8)"
    # Reductions combine, and each sampled call of a schedule has a last rail.
    jq -e --arg host "$(hostname)" 'def all_of(f): any(.[]; .waiting | f) and all(.[]; .waiting | f);
        def last: .last_rail | map(.times) | add; [.sites[] | select(.waiting)] |
        (map(select(.native == 0 and .collective == "allreduce")) | all_of(.combining > 0 and .combining < .moving and last == .calls)) and
        (map(select(.native == 0 and .collective == "bcast")) | all_of(.combining == 0 and last == .calls)) and
        all(.[].waiting.last_rail[]; .host == $host and (.rail == 0 or .rail == 1))' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "combining, or the last rail, is not so: $(jq -c '.sites[] | [.collective, .rerouted, .native, .waiting]' "$tmp/report.json" 2>&1)"
    finish

    quiet "a report has the calls of a size in order" 4 COLLSHIM_MODE=ab COLLSHIM_ALGORITHM=allreduce=lane -- "$programs/callers"
    jq -e '[.collectives[] | select(.collective == "allreduce") | .sizes[]] | length > 0 and all(.[];
        (.series | map(.[1]) | add) * 4 == .rerouted + .native and
        (.series | map(select(.[3] == "lane") | .[1]) | add // 0) * 4 == .rerouted and
        all(.series[]; .[2] > 0) and ([.series[][0]] | . == sort) and .verdicts == [])' "$tmp/report.json" >/dev/null 2>&1 ||
        complain "not so: $(jq -c '.collectives[] | select(.calls > 0) | .sizes[] | [.rerouted, .native, .verdicts, .series]' "$tmp/report.json" 2>&1)"
    finish

    quiet "a report of one node has no rails" 2 -- "$programs/callers"
    jq -e '.rails == []' "$tmp/report.json" >/dev/null 2>&1 || complain "$(jq -c .rails "$tmp/report.json" 2>&1)"
    finish

    begin "a spool"
    "$build/collshim" site --create "$place/spool" >/dev/null || complain "it cannot be made"
    [ "$(stat -c %a "$place/spool")" = 1733 ] || complain "its permissions are $(stat -c %a "$place/spool")"
    launch 3 COLLSHIM_REPORT="$place/spool" -- "$programs/callers"
    want_right
    want_lines
    want_no_report
    [ "$(find "$place/spool" -type f | wc -l)" -eq 1 ] || complain "not one report: $(find "$place/spool")"
    "$build/collshim" site "$place/spool" --json 2>&1 |
        jq -e '.reports == 1 and .programs[0].program == "callers" and .node_hours > 0 and .settings[0].jobs == 1' >/dev/null ||
        complain "collshim site does not add it up: $("$build/collshim" site "$place/spool" 2>&1)"
    "$build/collshim" report "$(find "$place/spool" -type f)" >/dev/null || complain "collshim report does not read it"
    jq -e 'all(.collectives[].sizes[]; has("series") | not)' "$(find "$place/spool" -type f)" >/dev/null || complain "it has series"
    jq -e 'has("rails") | not' "$(find "$place/spool" -type f)" >/dev/null || complain "it has rails"
    finish

    begin "any folder is a spool, also one that a link names"
    mkdir "$place/own"
    ln -s own "$place/linked"
    launch 2 COLLSHIM_REPORT="$place/own/" -- "$programs/ordinary"
    want_right
    want_lines
    launch 2 COLLSHIM_REPORT="$place/linked" -- "$programs/ordinary"
    want_right
    want_lines
    [ "$(find "$place/own" -name '*.json' | wc -l)" -eq 2 ] || complain "not two reports: $(find "$place/own")"
    finish

    begin "a spool that others may tamper with"
    mkdir -m 777 "$place/open"
    launch 2 COLLSHIM_REPORT="$place/open" -- "$programs/callers"
    want_right
    want_lines "COLLSHIM_REPORT: cannot write to $place/open: others may remove what is there; *"
    [ -z "$(ls -A "$place/open")" ] || complain "something was written"
    finish
    rm -r "$place"
}
