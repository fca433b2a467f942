#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/cli/run.sh [BUILD_DIR]: the command as a user meets it: exit codes, one line per complaint, JSON
# that a parser takes, and files that read back. The unit tests cover what is behind it.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/cli
collshim=$(realpath "$root/${1:-build}/collshim")
work=$tmp/work
mkdir "$work"
cd "$work"
# libpciaccess, behind hwloc, never frees its list; that is no leak of this command.
export ASAN_OPTIONS=detect_leaks=0

# run CODE COMMAND...: ends with that exit code. Its output is in the files out and err.
run() {
    local got=0
    "${@:2}" >out 2>err || got=$?
    [[ $got == "$1" ]] || echo "exits with $got instead of $1: $(head -c 300 err)"
    [[ $got == "$1" ]]
}

# says CODE TEXT COMMAND...: exit code CODE, and TEXT somewhere on stdout or stderr; a complaint is one line.
says() {
    run "$1" "${@:3}" || return
    if ! grep -qF -- "$2" out err; then
        echo "does not say '$2': $(head -c 300 err)"
    elif [[ $1 == [12] && $(wc -l <err) != 1 ]]; then
        echo "complains in $(wc -l <err) lines instead of 1"
    else
        return 0
    fi
    return 1
}

# is_json CODE FILTER COMMAND...: exit code CODE, and stdout is JSON for which the jq filter is true.
is_json() {
    run "$1" "${@:3}" && jq -e "$2" out
}

try() { # try says|is_json CODE TEXT COMMAND...
    local claim="\`${*:4}\`: $3"
    claim=${claim//"$collshim"/collshim}
    check "${claim//[^[:print:]]/ }" "$@"
}

expect() { try says "$@"; }
json_with() { try is_json "$@"; }
json() { json_with 0 "$@"; }

expect 0 "collshim " "$collshim" --version
expect 0 "To begin with" "$collshim" --help
expect 0 "Without an argument" "$collshim" topo --help
expect 0 "Without an argument" "$collshim" help topo
expect 2 "a command is missing" "$collshim"
expect 2 "the nearest is topo" "$collshim" tpoo
expect 2 "no option --json before a command" "$collshim" --json info
expect 2 "the nearest is --json" "$collshim" info --jsn
expect 2 "it takes no argument" "$collshim" info everything
expect 2 "--json takes no value" "$collshim" info --json=yes
expect 2 "--output needs a value" "$collshim" topo --output
expect 2 "no option --jsn, the nearest is --json" "$collshim" topo --jsn
expect 0 '"nodes": 2' env POSIXLY_CORRECT=1 "$collshim" topo node:2 --json
expect 2 "quote a text with blanks" "$collshim" topo node:4 rail:4
# shellcheck disable=SC2317 # expect calls it
full() { "$collshim" info >/dev/full; }
expect 1 "stdout cannot be written" full

expect 0 "COLLSHIM_MIN_BYTES" "$collshim" info
expect 0 "| \`COLLSHIM_MODE\` | \`mode\` | mode | \`on\` |" "$collshim" info --markdown
expect 1 "the nearest is COLLSHIM_MODE" env COLLSHIM_MOD=off "$collshim" info
expect 1 "expected on, off, ab or verify" env COLLSHIM_MODE=of "$collshim" info --json
expect 1 "no collective \`algather\`; the nearest is allgather" \
    env COLLSHIM_ALGORITHM=algather=native "$collshim" info
expect 1 "no algorithm 'rings' for allgather" env COLLSHIM_ALGORITHM=allgather=rings "$collshim" info
expect 1 "COLLSHIM_TOPOLOGY: nod:4: no such word; the nearest is node" \
    env COLLSHIM_TOPOLOGY=nod:4 "$collshim" info
json '.version and (.settings | length > 5) and (.algorithms | length > 0)' "$collshim" info --json
json_with 1 '.problems == 1 and .settings[0].value == "on"' env COLLSHIM_MODE=of "$collshim" info --json
json '.settings[] | select(.name == "report") | .value == "a\"b\\c\n\ufffd"' \
    env COLLSHIM_REPORT=$'a"b\\c\n\xff' "$collshim" info --json
printf 'mode: off\nmin_bytes: 1M\n' >job.yaml
json '[.settings[] | select(.origin == "file") | .value] == ["off", "1MiB"]' \
    env COLLSHIM_CONFIG=job.yaml "$collshim" info --json
printf 'mode: off\nmin_bytes: [1\n' >bad.yaml
expect 1 "bad.yaml:3: not YAML" env COLLSHIM_CONFIG=bad.yaml "$collshim" info

if [[ ! -d /etc/collshim ]]; then
    mkdir site
    printf 'min_bytes: 1M\nlog: info\nlock: min_bytes\nskip_programs: [vasp*]\nshare: 5%%\n' >site/collshim.yaml
    in_site() { env COLLSHIM_TEST_SITE=site "$@"; }
    json '[.settings[] | select(.origin == "site") | [.name, .locked]] == [["min_bytes", true], ["log", false]]' \
        in_site PMIX_NAMESPACE=job-11 "$collshim" info --json
    json '.site.share_percent == 5 and .site.left_out == null' in_site PMIX_NAMESPACE=job-11 "$collshim" info --json
    json '.site.left_out | contains("job-1 is not among")' in_site PMIX_NAMESPACE=job-1 "$collshim" info --json
    expect 0 "COLLSHIM_MIN_BYTES=2M: site/collshim.yaml locks min_bytes, which stays 1MiB" \
        in_site COLLSHIM_MIN_BYTES=2M "$collshim" info
    expect 0 "programs: vasp*; users: none" in_site "$collshim" info
    touch site/off
    json '.site.left_out | contains("the site has stopped")' in_site "$collshim" info --json
    echo 'min_bytes: [' >site/collshim.yaml
    expect 1 "site/collshim.yaml:2: not YAML" in_site "$collshim" info
fi

# shellcheck source=test/cli/cases_exec.sh
. "$here/cases_exec.sh"
# shellcheck source=test/cli/cases_top.sh
. "$here/cases_top.sh"
# shellcheck source=test/cli/cases_samples.sh
. "$here/cases_samples.sh"

expect 0 "For four of them write node:4" "$collshim" topo
json '.machine.package[0].cores > 0 and (.synthetic | startswith("node:1 "))' "$collshim" topo --json
text='node:4 rank:4 rail:4@3x100Mbit,50Mbit'
expect 0 "16 ranks on 4 nodes, 4 rails per node" "$collshim" topo "$text"
json '.ranks == 16 and .rail[3].bw_bytes_per_s == 6250000 and .link.shm.latency_ns == null' \
    "$collshim" topo --json "$text"
expect 0 "100Mbit" "$collshim" topo --output=cluster.topo "$text"
json ".synthetic == \"$text\"" "$collshim" topo --json cluster.topo
expect 0 "16 more ranks; --all shows them" "$collshim" topo node:2,rank:16
expect 1 "topology: nodes:4: no such word; the nearest is node" "$collshim" topo nodes:4
expect 1 "none/cluster.topo: no such file" "$collshim" topo none/cluster.topo
expect 1 "none/x: cannot be written" "$collshim" topo --output none/x "$text"
echo kept >kept && ln -s kept link.topo
expect 1 "link.topo: cannot be written: a symbolic link" "$collshim" topo --output link.topo "$text"
check "topo --output: what a link names stays" grep -qx kept kept
json '.ranks == 4 and .rank[3].gpu == 3 and .rank[3].socket == 1 and (.rail | length == 2)' \
    env HWLOC_XMLFILE="$here/machine.xml" "$collshim" topo --json
json '[.machine.gpu[].numa] == [0,0,1,1] and .machine.gpu[0].near == ["mlx5_0"] and .machine.gpu[3].near == ["mlx5_1"]' \
    env HWLOC_XMLFILE="$here/machine.xml" "$collshim" topo --json
if [[ -e ${collshim%/*}/gpusim/libcuda.so.1 ]]; then
    with_gpus() { # GPUSIM ARGUMENTS...: that machine with the simulated driver
        env HWLOC_XMLFILE="$here/machine.xml" LD_LIBRARY_PATH="${collshim%/*}/gpusim" GPUSIM="$1" "$collshim" "${@:2}"
    }
    pairs='devices=4 bus=1-2-21-22 pcie=0-2 nopeer=1-3'
    json '[.machine.gpu[].cuda] == [0,1,2,3] and .machine.gpu[0].peer == [null,"nvlink","pcie","nvlink"]
          and .machine.gpu[1].peer == ["nvlink",null,"nvlink",null]' with_gpus "$pairs" topo --json
    expect 0 'simulated device; mlx5_1' with_gpus "$pairs" topo
    expect 0 '  0        NVLink   PCIe NVLink' with_gpus "$pairs" topo
    json '[.machine.gpu[].nvlinks] == [[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]] and
          (.synthetic | contains("link_nvlink") | not)' with_gpus "$pairs" topo --json
    # NVML's links: two between GPUs 0 and 1 beside one that is down, four of GPU 0 to a switch and three of GPU 3.
    links='1=2,2,-,c0,c0,c0,c0 2=1,1 22=c0,c1,c0'
    json '.machine.gpu[0].nvlinks == [0,2,0,3] and .machine.gpu[3].nvlinks == [3,0,0,0] and
          .machine.gpu[0].nvlink_bytes_per_s == 25e9 and (.synthetic | contains("link_nvlink:50GB/s"))' \
        env NVMLSIM="$links" HWLOC_XMLFILE="$here/machine.xml" LD_LIBRARY_PATH="${collshim%/*}/gpusim" \
        GPUSIM="$pairs" "$collshim" topo --json
    expect 0 '  0           NV2   PCIe    NV3' env NVMLSIM="$links" HWLOC_XMLFILE="$here/machine.xml" \
        LD_LIBRARY_PATH="${collshim%/*}/gpusim" GPUSIM="$pairs" "$collshim" topo
    json '[.machine.gpu[].cuda] == [null,0,null,null]' with_gpus 'devices=1 bus=2' topo --json
    json '[.machine.gpu[].cuda] == [null,null,null,null]' with_gpus 'devices=0' topo --json
fi

expect 0 "1.000 of the bound" "$collshim" plan allgather
expect 0 "no deadlock, every byte right" "$collshim" plan allgather --check
expect 0 "no deadlock, every byte right" "$collshim" plan allgatherv --topology 'node:3 rank:4,3,4 rail:4' \
    --counts 1M,0,64K --chunk 10000 --check
json '.total_bytes == 16777216 and (.rail_load | length == 16)' "$collshim" plan allgather --json
expect 0 "RECV" "$collshim" plan allgather --rank 3
expect 0 "digraph rank2" "$collshim" plan allgather --dot --rank 2
expect 0 "rank 15 {" "$collshim" plan allgather --goal
expect 0 "unless forced" "$collshim" plan allgather --topology node:1,gpu:4 --algorithm parallel_rings
two_gpus='node:1 gpu:2 link_nvlink:8GB/s link_pcie:2GB/s'
for claim in " % through the host" "input => host => peers' hosts => host => output" "no deadlock"; do
  expect 0 "$claim" "$collshim" plan allreduce --algorithm collaborative --topology "$two_gpus" \
    --bytes 64M --check
done
# A fifth less what the host's path takes to fill.
json '.host_bytes / .total_bytes > 0.17 and .host_bytes / .total_bytes < 0.2' "$collshim" plan allreduce \
  --algorithm collaborative --topology "$two_gpus" --bytes 64M --json
expect 0 "fillcolor" "$collshim" plan allreduce --algorithm 'collaborative(split=20)' --topology "$two_gpus" --dot
expect 2 "must be the percentage" "$collshim" plan allreduce --algorithm 'collaborative(split=120)'
json '.host_bytes == 838848' "$collshim" plan allreduce --algorithm 'collaborative(split=80)' \
  --topology "$two_gpus" --json
# Sizes that no buffer or sum can hold: what is the most.
for collective in allgather allreduce bcast gather reduce_scatter_block; do
    expect 2 "--bytes: too large for 16 ranks; at most 16384TiB" "$collshim" plan "$collective" --bytes 16385T --check
done
expect 0 "16384TiB" "$collshim" sim bcast --bytes 16384T --chunk 1T
expect 0 "262144TiB" "$collshim" plan allgather --bytes 16384T
expect 2 "at most 1024TiB" "$collshim" sim alltoall --bytes 1025T
expect 2 "'9223372036854775808' is too large" "$collshim" plan allgather --bytes 9223372036854775808
expect 2 "is too large" "$collshim" plan allgather --chunk 99999999999999999999
expect 2 "--counts, all sizes: too large for 16 ranks; at most 262144TiB" "$collshim" plan allgatherv --counts 262145T,0
expect 2 "--demand, all sizes: too large for 16 ranks" "$collshim" plan alltoallv --demand skew:bytes=8388607T --check
printf '0 8388607T\n8388607T 8388607T\n' >"$work/huge"
expect 2 "--demand, all sizes: too large for 2 ranks; at most 2097152TiB" "$collshim" sim alltoallv --topology node:2 --demand "$work/huge"
printf '0 -1\n0 0\n' >"$work/negative"
expect 1 "line 1: '-1' is no size" "$collshim" plan alltoallv --topology node:2 --demand "$work/negative"
expect 1 "at most 8192" "$collshim" plan alltoallv --topology node:1048576
expect 1 "too many ranks: the plans of " "$collshim" plan alltoall --topology node:8192
# A long command ends, and names a shorter one.
expect 1 "no result after 1 s of computing; fewer nodes than 4, less payload, chunks larger than 4KiB or --limit 10 would do" \
    "$collshim" plan allgather --bytes 1G --chunk 1 --check --limit 1
expect 1 "fewer nodes than 64" "$collshim" sim alltoallv --topology 'node:64 rank:8 rail:8' --limit 1
expect 0 "no deadlock" "$collshim" plan allgather --check --limit 0
expect 2 "--limit: '1s' is no number of seconds" "$collshim" plan allgather --limit 1s
expect 0 "99999" timeout 20 "$collshim" topo node:1,socket:99999,rank:7

expect 2 "no collective 'gatherall'" "$collshim" plan gatherall
expect 2 "no algorithm 'bruck' for allgather" "$collshim" plan allgather --algorithm bruck
expect 2 "is no size" "$collshim" plan allgather --bytes lots
expect 2 "more sizes than the topology has ranks" "$collshim" plan allgatherv --topology node:2 --counts 1,2,3
expect 2 "is no rank" "$collshim" plan allgather --rank 16
expect 1 "node:-1" "$collshim" plan allgather --topology node:-1
expect 2 "parallel_rings" "$collshim" plan allgather --algorithm 'parallel_rings(bogus=4)'
expect 2 "must be at least 1" "$collshim" plan allgather --chunk 0
expect 2 "--counts: allgather has one size" "$collshim" plan allgather --counts 1,2
expect 0 "no deadlock, every byte right" "$collshim" plan alltoallv --check --demand skew:hot=0.7,bytes=8MiB
expect 0 "optimum (exact)" "$collshim" plan alltoallv --topology 'node:2 rank:2 rail:2@100Mbit,50Mbit'
printf '%s\n' '0 8MiB # to rank 1' '0 0' >"$work/demand"
json '.total_bytes == 8388608 and .algorithm == "nimble"' \
    "$collshim" plan alltoallv --topology 'node:2 rail:1' --demand "$work/demand" --json
json '.balancing | (.optimum == null or (.optimum > 0 and .optimum <= .balanced * 1.001)) and .balanced * 1.5 < .striped_evenly
        and .balanced <= .direct and .relayed_bytes > 0' \
    "$collshim" plan alltoallv --topology 'node:4 rank:4 rail:4@3x100Mbit,50Mbit' --demand skew:hot=0.7 --json
"$collshim" plan alltoallv --topology node:3 --demand random:seed=7 --rows >"$work/rows"
expect 0 "$(sed -n 3p "$work/rows")" "$collshim" plan alltoallv --topology node:3 --demand "$work/rows" --rows
expect 2 "only alltoallv has a demand" "$collshim" plan allgather --rows
expect 1 "line 1: 2 sizes for 4 ranks" "$collshim" plan alltoallv --topology 'node:4' --demand "$work/demand"
expect 2 "no kind 'skw', the nearest is skew" "$collshim" plan alltoallv --demand skw:hot=1
expect 2 "--demand is for alltoallv" "$collshim" plan allgather --demand skew
expect 2 "alltoallv has --demand instead" "$collshim" plan alltoallv --bytes 1M
expect 0 "pairwise" "$collshim" sim alltoallv --compare --demand moe:seed=3
expect 2 "--root: '16' is no rank of 0 to 15" "$collshim" plan bcast --root 16
json '.rail_load[3].out_bytes > 0 and .rail_load[2].out_bytes == 0' \
    "$collshim" plan bcast --topology 'node:4 rail:1' --root 3 --json
expect 0 "predicted    " "$collshim" plan allgather
json '.model_s > 0 and .unit == "bytes" and .recipe == null' "$collshim" plan allgather --json

# Twelve blocks of 1 MiB enter each node through four rails of 12.5 MB/s: 251.658 ms.
rails='node:4 gpu:4 rail:4@100Mbit'
expect 0 "bound 251.658 ms: 1.000 of the bound" "$collshim" sim allgather --topology "$rails"
expect 0 "100Gbit is assumed" "$collshim" sim allgather
expect 0 "socket link  node 0 socket 0 > 1" "$collshim" sim allgather --topology 'node:1 socket:2 gpu:2'
json '.model_s >= .bound_s and .bound_fraction <= 1 and (.bound_s * 1e6 | floor) == 251658' \
    "$collshim" sim allgather --topology "$rails" --json
json '[.links[] | select(.link == "rail in") | .bytes] == [range(16) | 3145728]' \
    "$collshim" sim allgather --topology "$rails" --json
json '.links | all(.busy > 0 and .busy <= 1) and (map(.busy) | . == (sort | reverse))' \
    "$collshim" sim allreduce --json
json '.bound_s == null and .bound_fraction == null and .model_s > 0' \
    "$collshim" sim allgather --topology 'node:1 rank:4' --json
json '.model_s > 1.9 * .bound_s' "$collshim" sim bcast --topology 'node:4 rail:1' --chunk 1M --json
expect 0 "parallel_rings" "$collshim" sim allgather --compare
json '.algorithms | length > 0 and all(.model_s > 0 or .why)' "$collshim" sim allreduce --compare --json
expect 2 "--compare takes all algorithms" "$collshim" sim allgather --compare --algorithm parallel_rings
expect 2 "a collective is missing" "$collshim" sim
expect 2 "no algorithm 'bruck' for allgather" "$collshim" sim allgather --algorithm bruck
expect 1 "too many ranks" "$collshim" plan allgather --check --topology 'node:8192 rank:8 rail:8'
# Without a name: what the preload would try first, and in its chunks.
json '.algorithm == "staggered_pairwise"' "$collshim" sim alltoall --json
json '.algorithm == "linear"' "$collshim" plan alltoall --algorithm linear --json
json '.chunk_bytes == 4096' "$collshim" plan allreduce --topology "$rails" --bytes 64M --chunk 1 --json
json '.algorithm == "parallel_rings" and .chunk_bytes == 65536' "$collshim" plan allreduce --topology "$rails" --bytes 4M --chunk 64K --json
expect 0 "512 on 64 nodes" "$collshim" sim allgather --topology 'node:64 gpu:8 rail:8'

# A profile is checked as a job would.
printf 'allgather 4x4 64K-1M parallel_rings chunk=32K\n' >good.profile
expect 0 "good.profile" env COLLSHIM_PROFILE=good.profile "$collshim" info
printf 'allgather 4y4 * native\n' >bad.profile
expect 1 "bad.profile:1: \`4y4\`: expected nodes x ranks" env COLLSHIM_PROFILE=bad.profile "$collshim" info
expect 1 "none.profile: no such file" env COLLSHIM_PROFILE=none.profile "$collshim" info
expect 1 "linear takes nothing in parentheses" \
    env COLLSHIM_ALGORITHM='allgather=linear(3)' "$collshim" info

# A report as a run writes it.
cat >run.json <<'TXT'
{"collshim": "0.1.0", "library": "A library", "ranks": 4, "counts_are": "sums over all ranks",
 "settings": {"mode": "on", "min_bytes": "1MiB"},
 "collectives": [
  {"collective": "allgather", "calls": 100, "rerouted": 80, "algorithm": "parallel_rings",
   "verified_equal": 0, "verified_different": 0,
   "native": {"the library's turn in a trial of the guard": 20},
   "sizes": [{"total_bytes_from": 1048576, "rerouted": 80, "rerouted_us": 100.0, "native": 20,
              "native_us": 250.0, "guard_rerouted": 1, "guard_native": 0,
              "algorithms": {"parallel_rings": 80}}]},
  {"collective": "bcast", "calls": 0, "rerouted": 0, "algorithm": "native", "verified_equal": 0,
   "verified_different": 0, "native": {}, "sizes": []}]}
TXT
expect 0 "collshim report run.json" "$collshim" report --help
expect 0 "allgather: 100 calls, 80 rerouted (parallel_rings)" "$collshim" report run.json
expect 0 "20 ran natively: the library's turn in a trial of the guard" "$collshim" report run.json
expect 0 "    1MiB         80        100.0         20        250.0    2.50x      -     1:0  parallel_rings" \
    "$collshim" report --wide run.json
expect 0 "     1MiB       80    100.0       20    250.0  2.50x     -   1:0  parallel_rings" "$collshim" report run.json
# The guard's comparison, at any mean times.
jq '.collectives[0].sizes[0] += {guard_rerouted: 0, guard_native: 1, guard_gain: 0.91, guard_spread: 0.034}' run.json >weighed.json
expect 0 "        250.0    0.91x   3.4%     0:1  parallel_rings" "$collshim" report --wide weighed.json
jq '.collectives[0].sizes[0] += {guard_rerouted: 0, guard_native: 1, guard_gain: 0, guard_spread: 0}' run.json >weighed.json
expect 0 "        250.0        -      -     0:1  parallel_rings" "$collshim" report --wide weighed.json
# Medians, where a report has them.
jq '.collectives[0].sizes[0] += {guard_rerouted: 0, rerouted_us_median: 90, native_us_median: 108, median_spread: 0.041}' run.json >medians.json
expect 0 "    1MiB         80         90.0         20        108.0    1.20x   4.1%       -  parallel_rings" \
    "$collshim" report --wide medians.json
expect 0 "COLLSHIM_MIN_BYTES=1MiB" "$collshim" report run.json
jq '.all_native = "COLLSHIM_TOPOLOGY does not fit"' run.json >unfit.json
expect 0 "All calls ran natively: COLLSHIM_TOPOLOGY does not fit. Counts are sums over all ranks." "$collshim" report --wide unfit.json
json '.collectives[0].sizes[0].native_us == 250' "$collshim" report --json run.json
if command -v gnuplot >/dev/null; then
    expect 0 "allgather" "$collshim" report run.json --plot "it's.svg"
    expect 0 "allgather, rerouted" cat "it's.svg"
    expect 1 "gnuplot could not write none/x.png" "$collshim" report run.json --plot none/x.png
fi
mkdir -p empty.path
expect 1 "gnuplot is not installed" env PATH="$PWD/empty.path" "$collshim" report run.json --plot x.svg
expect 2 "ends neither in .png nor in .svg" "$collshim" report run.json --plot x.pdf
expect 2 "a file is missing" "$collshim" report
expect 2 "not both" "$collshim" report run.json --json --plot x.svg
head -c 400 run.json >cut.json
: >empty.json
echo '{"collshim": "0.1.0", "ranks": 4, "collectives": [{"collective": "bcast"}]}' >old.json
echo '[1]' >foreign.json
echo 'ratio,1.5' >text.csv
expect 1 "cut.json: cut off after line" "$collshim" report cut.json
expect 1 "empty.json: empty; did the run reach MPI_Finalize?" "$collshim" report empty.json
expect 1 "old.json: JSON, but no report" "$collshim" report old.json
expect 1 "foreign.json: JSON, but no report" "$collshim" report foreign.json
expect 1 "text.csv:1: not JSON" "$collshim" report text.csv
expect 1 "none.json: No such file" "$collshim" report none.json
expect 1 "0 calls seen" "$collshim" report none.json
expect 1 "a directory, not a report" "$collshim" report .

# Rails of two hosts, one of which has changed.
rail() { # HOST RAIL BYTES SHARE CAN_SEND COULD CALL CAN_RECEIVE
    printf '{"host": "%s", "rail": %s, "ranks": 1, "calls": 9, "seconds": 2, "sent_bytes": %s, "sent_share": %s,
      "sent_bytes_per_s": %s, "can_send_bytes_per_s": %s, "could_send_bytes_per_s": %s, "received_bytes": 7,
      "received_share": 0.5, "received_bytes_per_s": null, "can_receive_bytes_per_s": %s,
      "could_receive_bytes_per_s": %s, "changed_at_call": %s}' "$1" "$2" "$3" "$4" "$(($3 / 2))" "$5" "$6" "$8" "$6" "$7"
}
with_rails() { # FILE RAIL...: run.json with these
    local IFS=,
    jq --argjson rails "[${*:2}]" '.rails = $rails | .rails_not_listed = 0' run.json >"$1"
}
with_rails rails.json "$(rail a 0 25000000 0.91 12500000 null null 12500000)" \
    "$(rail a 1 2500000 0.09 3125000 12500000 412 3125000)" "$(rail b null 0 0 null null null null)"
expect 0 "  a                        0        9        25.0   91%     100    100         0.0   50%       -    100" \
    "$collshim" report --wide rails.json
expect 0 "  b                      all        9         0.0    0%       -      -" "$collshim" report --wide rails.json
expect 0 "Rail 1 of a carries 25 Mbit/s of the 100 it had until call 412; 9 % of the host's data go there." \
    "$collshim" report --wide rails.json
check "no other rail is told of" test "$("$collshim" report rails.json | grep -c '^  Rail ')" = 1
with_rails slow.json "$(rail a 0 25000000 0.9 12500000 null null 12500000)" "$(rail a 1 5000000 0.1 6250000 null null 12000000)"
expect 0 "Rail 1 of a sends 50 Mbit/s where another of this host carries 100; 10 % of the" "$collshim" report --wide slow.json
check "it receives as fast as another" test "$("$collshim" report slow.json | grep -c '^  Rail ')" = 1
many_rails=()
for i in {1..40}; do many_rails+=("$(rail a "$i" 5 0.1 null null null null)"); done
with_rails many_rails.json "${many_rails[@]}"
expect 0 "  and 8 more" "$collshim" report many_rails.json
check "--all: all rails" test "$("$collshim" report many_rails.json --all | grep -c '^  a  *[0-9]')" = 40
with_rails wrong.json '{"host": "a", "rail": "x"}'
expect 1 "wrong.json: JSON, but no report" "$collshim" report wrong.json

# Call sites. The object is this command itself: its lines are known where libdw and debug information are.
build_id=$(readelf -n "$collshim" 2>/dev/null | sed -n 's/.*Build ID: //p')
main_at=$((0x$(nm "$collshim" | sed -n 's/ T main$//p') + 5))
site() { # OBJECT BUILD_ID OFFSET RANK_S REASON: a row; 60 calls of which 50 rerouted
    printf '{"object": "%s", "build_id": %s, "offset": %d, "callers": [], "collective": "allreduce", "comm_ranks": 4,
      "comm_nodes": 2, "total_bytes_from": 1048576, "calls": 60, "bytes": 6e7, "rerouted": 50, "rerouted_rank_s": %s,
      "rerouted_us_median": 100.5, "rerouted_us_p99": 300, "native": 10, "native_rank_s": %s, "native_us_median": 250,
      "native_us_p99": null, "algorithm": "lane", "reason": "%s", "saved_rank_s": 0.5, "plus_minus_rank_s": 0.1}' \
        "$1" "$2" "$3" "$4" "$4" "$5"
}
with_sites() { # FILE SITE...: run.json with these
    local IFS=,
    printf '[%s]' "${*:2}" >rows.json
    jq --slurpfile s rows.json '.sites = $s[0] | .saved = {"rank_seconds": 0.5, "plus_minus": 0.1} |
        .job = {"id": "77", "user": "ann", "program": "/bin/app", "nodes": 2, "seconds": 3}' run.json >"$1"
}
trial="the library's turn in a trial of the guard"
with_sites sites.json "$(site "$collshim" "\"$build_id\"" "$main_at" 1 "$trial")" "$(site /no/lib.so null 4660 0.5 "$trial")"
expect 0 "  lib.so+0x1234" "$collshim" report sites.json
expect 0 " 66.7% allreduce                1MiB     4/2        60      83.3%      100.5      300.0      250.0          -       0.5+-0.1  lane" \
    "$collshim" report --wide sites.json
expect 0 "/bin/app on 2 nodes, job 77, user ann, 3 s" "$collshim" report sites.json
expect 0 "Next: nothing; what can be rerouted is, and it pays." "$collshim" report sites.json
if "$collshim" report sites.json | grep -q '^  main'; then
    expect 0 "main at cli/main.c:" "$collshim" report sites.json
    with_sites moved.json "$(site "$collshim" '"00112233"' "$main_at" 1 "$trial")"
    expect 0 "  collshim+0x" "$collshim" report moved.json
else
    skip "a site has a function, a file and a line" "built without libdw, or without debug information"
fi
printf 'namespace solver { __attribute__((used)) int step(int n) { return n * 3; } }\n' >step.cc
if command -v c++ readelf nm >/dev/null && "$collshim" report sites.json | grep -q '^  main'; then
    c++ -g -O1 -fPIC -shared -Wl,--build-id -o libstep.so step.cc
    step_at=$((0x$(nm libstep.so | sed -n 's/ T _ZN6solver4stepEi$//p') + 2))
    with_sites step.json "$(site "$PWD/libstep.so" "\"$(readelf -n libstep.so | sed -n 's/.*Build ID: //p')\"" "$step_at" 1 "$trial")"
    expect 0 "  solver::step(int) at " "$collshim" report step.json
else
    skip "a function of C++ has its own name" "no C++ compiler, or built without libdw"
fi
mkfifo place.fifo
with_sites fifo.json "$(site "$PWD/place.fifo" null 4660 1 "smaller than COLLSHIM_MIN_BYTES")"
expect 0 "  place.fifo+0x1234" timeout 20 "$collshim" report fifo.json
expect 0 "Next: 50 % of the time ran natively (smaller than COLLSHIM_MIN_BYTES); try COLLSHIM_MIN_BYTES=16K" "$collshim" report --wide fifo.json
jq '.sites[].total_bytes_from = 8192' fifo.json >tiny.json
expect 0 "Next: nothing; what can be rerouted is, and it pays." "$collshim" report tiny.json
jq '.sites[].total_bytes_from = 16384' fifo.json >near.json
expect 0 "try COLLSHIM_MIN_BYTES=16K" "$collshim" report --wide near.json
jq '.partial = true' sites.json >partial.json
expect 0 "Partial: the job did not reach MPI_Finalize." "$collshim" report partial.json
jq '.sites[0].calls = "many"' sites.json >wrong.json
expect 1 "wrong.json: JSON, but no report" "$collshim" report wrong.json
with_sites new.json "$(site /no/lib.so null 4660 2 "$trial")" "$(site /no/lib.so null 4999 0.1 "$trial")"
expect 0 "Collectives took 3 s of all ranks, then 4.2 s" "$collshim" report --diff sites.json new.json
expect 0 "    0.25x" "$collshim" report --wide --diff sites.json new.json
expect 0 "Next: look at lib.so+0x1234, which makes up 100 % of the loss." "$collshim" report --diff sites.json new.json
expect 0 "Next: nothing; the two runs took the same time" "$collshim" report --diff sites.json sites.json
jq '.saved = {rank_seconds: 0, plus_minus: 0, calls_without_comparison: 90}' sites.json >alone.json
expect 0 "Next: run it once with COLLSHIM_MODE=ab" "$collshim" report alone.json
# Ranks that never met do not know their nodes; it is the same communicator.
jq '.sites[].comm_nodes = 0' sites.json >unmet.json
expect 0 "Next: nothing; the two runs took the same time" "$collshim" report --diff unmet.json sites.json
same_sites() { ! "$collshim" report --diff unmet.json sites.json | grep -E "gone|new"; }
check "a run without reroutes has the same call sites" same_sites
expect 1 "the first report has no call sites" "$collshim" report --diff run.json sites.json
jq '.sites |= map(.native_rank_s = 0 | .rerouted_rank_s = 0)' sites.json >zero.json
expect 1 "no call of the second report was timed" "$collshim" report --diff sites.json zero.json
expect 2 "--diff takes two files" "$collshim" report --diff sites.json
if command -v gnuplot >/dev/null; then
    expect 0 "allreduce" "$collshim" report sites.json --svg sites.svg
    expect 0 "lib.so+0x1234" cat sites.svg
    expect 0 "allreduce" "$collshim" report sites.json --png sites.png
    expect 0 "PNG" cat sites.png
    ran() { "$collshim" report sites.json --svg '|touch ran; cat >x.svg'; "$collshim" report sites.json --svg $'x\n!touch ran\n.svg'; [ -e ran ]; }
    check "a picture's name is no command" eval '! ran >/dev/null 2>&1'
fi
expect 1 "nothing to draw: the report has no call sites" "$collshim" report run.json --svg x.svg
expect 2 "does not end in .svg" "$collshim" report sites.json --svg x.png

# Many reports. A job of 3,600 s on 2 nodes each, of which 4 ranks spent 150 s in collectives; it saved 20 s of ranks.
mkdir -p spool/1000 spool/1001
one='{"collshim": "0.1.0", "ranks": 4, "job": {"program": "/bin/app", "nodes": 2, "seconds": 3600, "began": 1700000000},
  "changed": {"min_bytes": "16KiB"}, "collectives": [], "saved": {"rank_seconds": 20, "plus_minus": 2}, "sites": '"$(cat rows.json)"'}'
job() { jq -c "$2" <<<"$one" >"spool/$1.json"; }
job 1000/a '.sites = [.sites[0] | .rerouted_rank_s = 50 | .native_rank_s = 100 | .reason = "smaller than COLLSHIM_MIN_BYTES"]'
job 1000/b '.partial = true | .job.script = "/home/a/train.py" | .sites = [] | .changed = {}'
job 1001/c '.saved = {"rank_seconds": -30, "plus_minus": 5} | .job.program = "/bin/bad\u001b[2Jone\"\\" | .sites = [] | .job.began = 1700100000'
head -c 200 spool/1000/a.json >spool/1000/cut.json
echo '{"a": 1}' >spool/1000/foreign.json
echo 'nonsense' >spool/1001/text.json
mkfifo spool/1001/fifo.json
ln -s ../1000/a.json spool/1001/link.json
truncate -s 17M spool/1001/huge.json
jq -c '.ranks = -1' <<<"$one" >spool/1001/negative.json
jq -c '.job.nodes = 1e300' <<<"$one" >spool/1001/absurd.json
expect 0 "3 reports, 1 of them partial, jobs begun from 2023-11-14 22:13 to 2023-11-16 02:00 UTC" timeout 20 "$collshim" site --wide spool
expect 0 "1 file cut off: 1000/cut.json" "$collshim" site spool
expect 0 "1 file larger than 4 MiB: 1001/huge.json" "$collshim" site spool
expect 0 "6 files no report: " "$collshim" site spool
expect 0 "Node hours 6; in collectives 0.02083; saved 0.001389 +- 0.0008, 0.02 %" "$collshim" site spool
expect 0 "Next: look at bad?[2Jone\"\\ with" "$collshim" site spool
json '.reports == 3 and .skipped["no report"] == 6 and .programs[0].saved_node_hours == -0.00416667 and .programs[0].lost == 1
      and ([.programs[] | select(.program | endswith(" train.py"))] | length == 1) and .reasons[0].native_node_hours == 0.0138889
      and ([.settings[] | .setting] | sort == ["(defaults)", "min_bytes=16KiB"])' "$collshim" site --json spool
json '.reasons[0].advice | startswith("try COLLSHIM_MIN_BYTES=16K")' "$collshim" site --json spool
mkdir tiny
jq '.sites[0].total_bytes_from = 8192' spool/1000/a.json >tiny/a.json
expect 0 "Next: nothing; no reason that a setting would change" "$collshim" site --wide tiny
json '.reasons[0].native_node_hours > 0 and .reasons[0].advice == null' "$collshim" site --json tiny
json '.reports == 1 and .node_hours == 2' "$collshim" site --json spool --since 2023-11-15
json '.reports == 2' "$collshim" site --json spool --until 2023-11-15T00:00
json '.reports == 0' "$collshim" site --json spool --since 7d
expect 0 'collshim_program_saved_node_hours{program="bad?[2Jone\"\\"} -0.00416666667' "$collshim" site --prometheus spool
expect 0 'collshim_native_node_hours{reason="smaller than COLLSHIM_MIN_BYTES"} 0.0138888889' "$collshim" site --prometheus spool
# shellcheck disable=SC2016 # awk's
check "the Prometheus form is lines of a name, labels and a number" awk '/^#/ { next } !/^[a-z_]+({[a-z]+="([^"\\]|\\.)*"})? -?[0-9.e+-]+$/ { bad = 1; print } END { exit bad }' \
    <("$collshim" site --prometheus spool)
expect 2 "--since: 'monday' is no time" "$collshim" site spool --since monday
expect 2 "a directory is missing" "$collshim" site
expect 2 "not both" "$collshim" site spool --json --prometheus
# shellcheck source=test/cli/cases_page.sh
. "$here/cases_page.sh"
expect 1 "none: No such file" "$collshim" site none
expect 1 "run.json: Not a directory" "$collshim" site run.json
expect 0 "made, for the reports of all users" "$collshim" site --create made
check "a spool lets everybody add and nobody look" [ "$(stat -c %a made)" = 1733 ]
expect 1 "made: cannot be made: File exists" "$collshim" site --create made
expect 0 "Next: set COLLSHIM_REPORT to this directory" "$collshim" site made
mkdir -p many
jq -c '.sites = [range(32) as $i | .sites[0]]' spool/1000/a.json |
    awk '{ for (i = 0; i < 10000; i++) { f = "many/" i ".json"; t = $0; gsub(/bin\/app/, "bin/app" i, t); print t >f; close(f) } }'
many() { # takes 3 to 6 s of a processor, not minutes, and memory as for one
    local used
    used=$( { command time -f '%U %S %M' "$collshim" site --json many >many.out; } 2>&1) || return 1
    echo "user, system, KiB: $used"
    jq -e '.reports == 10000 and (.programs | length == 4096) and .programs[-1].program == "(others)" and .programs[-1].jobs == 5905' many.out >/dev/null &&
        awk '{ exit !($1 + $2 <= 30 && $3 < 65536) }' <<<"$used"
}
if command -v time >/dev/null && [ -x "$(type -P time)" ]; then
    check "10,000 reports take 30 s at most, and their programs a table of fixed size" many
else
    skip "10,000 reports take 30 s at most" "time is not installed"
fi
rm -r many
# shellcheck source=test/cli/cases_foreign.sh
. "$here/cases_foreign.sh"
# shellcheck source=test/cli/cases_gate.sh
. "$here/cases_gate.sh"
# shellcheck source=test/cli/cases_search.sh
. "$here/cases_search.sh"

expect 0 "link_reduce:" "$collshim" rates
expect 0 '"reduce": {' "$collshim" rates --json
expect 2 "no argument, got 1" "$collshim" rates all
simulated=$(dirname "$collshim")/gpusim
if [ -r "$simulated/libcuda.so.1" ]; then
    with() { LD_LIBRARY_PATH=$simulated GPUSIM=$1 "${@:2}"; }
    expect 0 "link_nvlink:8GB/s" with 'devices=2 peer=8 h2d=2 d2h=3' "$collshim" rates
    expect 0 "link_pcie:2GB/s" with 'devices=1 peer=8 h2d=2 d2h=3' "$collshim" rates
    expect 0 "no rates of GPUs: CUDA_ERROR" with 'devices=1 fail=MemAlloc:1' "$collshim" rates
    expect 0 "no rates of GPUs: CUDA_ERROR_NO_DEVICE" with devices=0 "$collshim" rates
fi

expect 0 ".TP" "$collshim" info --man
expect 2 "only one of --json" "$collshim" info --man --json

conclude
