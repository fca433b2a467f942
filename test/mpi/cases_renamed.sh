# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Old names of settings: they work, and rank 0 alone says so, a line each.

smoke_renamed() {
    right "old names in the environment, with COLLSHIM_STRICT=1" 3 COLLSHIM_STRICT=1 COLLSHIM_GUARD=0 COLLSHIM_SHM=copy \
        COLLSHIM_MIN_BYTES=1 -- "$programs/ordinary"
    want_lines "COLLSHIM_GUARD=0: write COLLSHIM_CHOOSE=always" \
        "COLLSHIM_SHM=copy: write COLLSHIM_TEST_SHM=copy, which is for tests"
    want_rerouted
    jq -e '.settings.choose == "always" and .settings.test_shm == "copy" and .changed.choose == "always"' "$tmp/report.json" \
        >/dev/null || complain "the report has not the new names: $(jq -c .changed "$tmp/report.json")"
    finish
}

cases_renamed() {
    smoke_renamed
    begin "an old name on one rank, the new one on the others"
    launch_apart 3 COLLSHIM_CHOOSE=always -- COLLSHIM_GUARD=0 -- "$programs/ordinary"
    want_right
    want_lines
    want_rerouted
    finish

    printf 'guard: 0\n' >"$tmp/settings.yaml"
    right "an old name in a file beside the new one in the environment" 3 COLLSHIM_CONFIG="$tmp/settings.yaml" \
        COLLSHIM_CHOOSE=model -- "$programs/ordinary"
    want_lines "$tmp/settings.yaml: guard: 0: not used, because COLLSHIM_CHOOSE is set"
    jq -e '.settings.choose == "model"' "$tmp/report.json" >/dev/null || complain "it wins"
    finish

    right "a bad value of an old name" 3 COLLSHIM_GUARD=sometimes -- "$programs/ordinary"
    want_lines "COLLSHIM_GUARD=sometimes: expected 0 or 1 *; guard stays 1 (default)"
    want_rerouted
    finish

    mkdir "$tmp/spool"
    right "COLLSHIM_SPOOL is COLLSHIM_REPORT now" 2 COLLSHIM_SPOOL="$tmp/spool" -- env -u COLLSHIM_REPORT \
        "$programs/ordinary"
    want_lines "COLLSHIM_SPOOL=$tmp/spool: write COLLSHIM_REPORT=$tmp/spool"
    [ "$(find "$tmp/spool" -name '*.json' | wc -l)" -eq 1 ] || complain "not one report: $(find "$tmp/spool")"
    finish
    rm -r "$tmp/spool"
}
