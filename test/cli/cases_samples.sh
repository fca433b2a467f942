# shellcheck shell=bash disable=SC2154 # variables of test/cli/run.sh, which sources this
# SPDX-License-Identifier: BSD-3-Clause
#
# The texts in docs/samples/ are what the commands print today: their headings are compared, figures are not.

sample_headings() { # DIR
    (cd "$1" && grep -EH '^ *(time +)?collective .*[a-z]|^(Program|Native hours|Setting) |^# (HELP|TYPE)' ./*.txt ./*.prom | sed 's/ \+/ /g')
}
sampled() {
    "$root/scripts/samples" sampled "${collshim%/*}" && [[ -s sampled/report.svg ]] &&
        diff <(sample_headings "$root/docs/samples") <(sample_headings sampled)
}
five_texts() { [[ $(sample_headings sampled | cut -d : -f 1 | sort -u | wc -l) == 5 ]]; }
if [[ -x ${collshim%/*}/openmpi/test/mpi/callers || -x ${collshim%/*}/mpich/test/mpi/callers ]]; then
    check "docs/samples is what the commands print" sampled
    check "all five texts have headings" five_texts
else
    skip "docs/samples is what the commands print" "built without MPI"
fi
expect 2 "the folder for the texts is missing" "$root/scripts/samples"
