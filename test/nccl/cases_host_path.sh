# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A part of an Allreduce through pinned memory that the ranks of a node share.

# The kernels of late ranks would find other data in that memory if a rank came too early: the sums of 4100103 elements
# differ from piece to piece.
together=('COLLSHIM_ALGORITHM=allreduce=collaborative(split=40)' "${every[@]:0:1}")
through_host() { jq '[.nccl.collectives[].algorithms.collaborative // 0] | add' "$tmp/report.nccl"; }
by_both() { # DESCRIPTION CALLS
  check "$1: GPUs and the host" test "$(through_host)" -ge "$2"
}
mapfile -t one_host < <(printf '%s\n' "${prompt[@]}" | grep -vxE 'exchanges|.*rates|helper_.*|sets.*|messages')
preloaded 'through the host, processes' "${together[@]}" "$ranks" --ranks 4 --count 20003 "${one_host[@]}"
by_both 'through the host, processes' 300
preloaded 'through the host, threads' "${together[@]}" "$ranks" --ranks 3 --threads --count 20003 "${one_host[@]}"
by_both 'through the host, threads' 900
verified 'through the host, verified' allreduce "${together[@]}" "$ranks" --ranks 4 --count 20003 reductions async_error two_streams
preloaded 'through the host, in graphs' "${together[@]}" "$ranks" --ranks 2 --count 5003 captured
check 'through the host, in graphs: all is rerouted' \
  jq -e '.nccl.collectives[] | select(.collective == "allreduce") | .rerouted == 8 and .native == {}' "$tmp/report.nccl"
[ -n "$quick" ] || for seed in 1 2 3 4; do
  preloaded "through the host, late streams $seed" 'COLLSHIM_ALGORITHM=allreduce=collaborative(split=95)' "${every[@]:0:1}" GPUSIM="devices=8 seed=$seed" \
    "$ranks" --ranks 4 --count 4100103 async_error
  preloaded "through the host, late streams $seed" "${together[@]}" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 3 --count 20003 \
    blocked_stream two_streams thread_streams destroy_early abort captured captured_grown repeated
done
echo 'allreduce 1x2 * collaborative(split=30)' >"$tmp/profile"
preloaded 'through the host, as a profile says' COLLSHIM_PROFILE="$tmp/profile" COLLSHIM_MIN_BYTES=0 "$ranks" --ranks 2 --count 20003 repeated
by_both 'through the host, as a profile says' 60
reason 'host memory that cannot be pinned' 'no pinned memory' "${together[@]}" GPUSIM='devices=8 fail=MemHostRegister:1' "$ranks" --ranks 2 --count 20003 async_error
check 'host memory that cannot be pinned: native' test "$(rerouted allreduce)" -eq 0
# A contender where the topology says how fast the links are; PCIe may be slower than it says.
beside_host() { # DESCRIPTION GPUSIM TOPOLOGY
  preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K COLLSHIM_TOPOLOGY="$3" GPUSIM="devices=8 $2" NCCLSIM='near=0.5 far=0.5' \
    "$ranks" --ranks 2 --count 1000003 repeated repeated # so many calls that busy cores settle, too
}
links='node:1 gpu:2 link_nvlink:0.5GB/s link_pcie:0.5GB/s'
beside_host 'PCIe as fast as the links between GPUs' 'h2d=0.5 d2h=0.5' "$links"
by_both 'PCIe as fast as the links between GPUs' 40
settled_within 'PCIe as fast as the links between GPUs' 64
beside_host 'PCIe slower than the topology says' 'h2d=0.02 d2h=0.02' "$links"
# At most three rounds begin before the first one's times come, each with two calls on either rank, and one that may have
# been held up is made again. Then the library serves or `linear`, which is as fast here.
[ "$(through_host)" -gt 0 ] && [ "$(through_host)" -le 16 ]
ok "PCIe slower than the topology says: $(through_host) calls through the host, at most 16" $?
settled_within 'PCIe slower than the topology says' 64
beside_host 'links of unknown rates' 'h2d=0.5 d2h=0.5' 'node:1 gpu:2'
check 'links of unknown rates: nothing through the host' test "$(through_host)" -eq 0
