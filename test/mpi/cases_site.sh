# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A site's folder, alike on all ranks or not, and jobs of two versions.

site=$tmp/site
out_reason="the site leaves a rank of the job out"

# set_site [TEXT]: the folder holds that file alone, or nothing
set_site() {
    rm -rf "$site"
    mkdir "$site"
    [ $# -eq 0 ] || printf '%b' "$1" >"$site/collshim.yaml"
}

site_alike() {
    set_site 'chunk_bytes: 100\nalgorithm: allgatherv=native\n'
    quiet "a site's file is read" 3 COLLSHIM_TEST_SITE="$site" -- "$programs/ordinary"
    want_number allgather .rerouted -eq "$(expected allgather)"
    want_number allgatherv '.native["COLLSHIM_ALGORITHM says native"]' -eq "$(expected allgatherv)"
    finish

    set_site 'lock: algorithm\nalgorithm: allgatherv=native\n'
    right "a setting that the site locks" 3 COLLSHIM_TEST_SITE="$site" COLLSHIM_ALGORITHM=allgather=native -- \
        "$programs/ordinary"
    want_lines "COLLSHIM_ALGORITHM=allgather=native: $site/collshim.yaml locks algorithm, which stays allgatherv=native"
    want_number allgather .rerouted -eq "$(expected allgather)"
    want_number allgatherv '.native["COLLSHIM_ALGORITHM says native"]' -eq "$(expected allgatherv)"
    finish

    local rule
    for rule in '' 'skip_programs: [ordinary]' 'skip_users: [somebody]' 'share: 0%'; do
        set_site "$rule\n"
        [ -n "$rule" ] || : >"$site/off"
        quiet "${rule:-a stop file}: all native, and nothing is said of it" 3 COLLSHIM_TEST_SITE="$site" USER=somebody -- \
            "$programs/ordinary"
        want_no_report
        finish
    done
    right "COLLSHIM_LOG=info tells of it" 3 COLLSHIM_TEST_SITE="$site" COLLSHIM_LOG=info -- "$programs/ordinary"
    want_lines "$site/collshim.yaml: share: * (rank 0; all ranks run natively)"
    finish

    set_site 'share: 5\n'
    right "COLLSHIM_STRICT=1 does not answer for the site" 3 COLLSHIM_TEST_SITE="$site" COLLSHIM_STRICT=1 -- \
        "$programs/ordinary"
    want_lines "$site/collshim.yaml:1: share: 5: expected a percentage *"
    finish
}

# site_apart NAME PATTERN...: the last of three ranks alone has the folder; right, and all native
site_apart() {
    begin "$1"
    launch_apart 3 COLLSHIM_MODE=on -- COLLSHIM_MODE=on COLLSHIM_TEST_SITE="$site" -- "$programs/ordinary"
    want_right
    want_lines "${@:2}"
    want_all_native "$out_reason"
    finish
}

site_stops_one_rank() {
    set_site
    : >"$site/off"
    site_apart "a stop file that one rank sees"
}

site_on_some_ranks() {
    set_site
    : >"$site/off"
    begin "a stop file that all ranks but one see"
    launch_apart 3 COLLSHIM_TEST_SITE="$site" -- COLLSHIM_MODE=on -- "$programs/ordinary"
    want_right
    want_lines
    want_no_report
    finish

    set_site 'mode: [\n'
    site_apart "a site's file that one rank finds malformed" \
        "$site/collshim.yaml cannot be used (rank 2; all ranks run natively)"
    set_site
    mkfifo "$site/collshim.yaml"
    site_apart "a site's file that one rank finds to be a FIFO" \
        "$site/collshim.yaml cannot be used (rank 2; all ranks run natively)"

    set_site 'min_bytes: 8K\nlock: min_bytes\n'
    begin "settings of a site's file that one rank has"
    launch_apart 3 COLLSHIM_MIN_BYTES=4K -- COLLSHIM_MIN_BYTES=4K COLLSHIM_TEST_SITE="$site" -- "$programs/ordinary"
    want_right
    want_lines "settings differ between ranks: 'min_bytes 8KiB' on rank 2, 'min_bytes 4KiB' on rank 0; *"
    want_all_native "the ranks did not agree on the settings"
    finish
}

sites_own() {
    [ -d /etc/collshim ] || return 1
    skip "a site's settings" "this machine has some of its own, in /etc/collshim"
}

# Another version is this one with another number in it.
other=$tmp/other
smoke_site() {
    local version file
    version=$("$build/collshim" --version)
    version=${version#collshim }
    mkdir -p "$other"
    for file in libcollshim.so "libcollshim-$family.so"; do
        sed "s/${version//./\\.}/9.9.9/g" "$build/$file" >"$other/$file"
    done
    begin "two versions in a job: all native, and a line names a rank"
    launch_apart 3 COLLSHIM_MODE=on -- \
        LD_PRELOAD="$other/libcollshim.so${yielding[$kin]:+:${yielding[$kin]}}" -- "$programs/ordinary"
    want_right
    want_lines "rank 2 has loaded another version of collshim than $version, all run natively; *"
    want_all_native "not every rank has loaded collshim"
    finish

    sites_own || site_stops_one_rank
}

cases_site() {
    local first
    smoke_site
    for first in '' "$build/libcollshim.so:"; do
        begin "another version preloaded into each rank${first:+, behind this one}: one serves"
        preload=$first$other/libcollshim.so
        launch 3 -- "$programs/ordinary"
        want_right
        want_lines
        want_rerouted
        finish
    done
    sites_own || { site_alike; site_on_some_ranks; }
}
