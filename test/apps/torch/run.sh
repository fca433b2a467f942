#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/apps/torch/run.sh BUILD [RANKS]: PyTorch steps over NCCL, unmodified, with the preload and without:
# the same losses, and calls counted in the report. Several ranks on one GPU reach each other by sockets.
# Without a GPU: that the preload disturbs nothing, and is asked for a unique id (PyTorch with NCCL: x86-64
# wheels are). Exit status: 77 without PyTorch or the NCCL backend.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../../tap.sh"
build=$(cd "${1:?usage: test/apps/torch/run.sh BUILD [RANKS]}" && pwd)
ranks=${2:-2}
here=$(cd "$(dirname "$0")" && pwd)

[ -e "$build/libcollshim-nccl.so" ] || skip_all "built without the NCCL backend"
python3 -c 'import torch.distributed' 2>/dev/null || skip_all "no PyTorch in this python3"

timeout 300 python3 "$here/processes.py" >"$tmp/bare" 2>"$tmp/err"
ok "PyTorch's processes run without the preload: $(tail -n 1 "$tmp/err")" $?
LD_PRELOAD="$build/libcollshim.so" timeout 300 python3 "$here/processes.py" >"$tmp/with" 2>"$tmp/err" && cmp "$tmp/bare" "$tmp/with"
ok "PyTorch's processes, with the preload: the same bits: $(tail -n 1 "$tmp/err")" $?
if python3 -c 'import sys, torch.distributed as d; sys.exit(not d.is_nccl_available())'; then
  LD_PRELOAD="$build/libcollshim.so" python3 -c 'import sys, torch; sys.exit(torch.cuda.nccl.unique_id()[-8:-4] != b"lloc")' # notice.c: MARK
  ok 'an id that PyTorch makes names a notice board' $?
fi
if ! python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  skip "PyTorch's steps over NCCL" "no GPU"
  conclude
  exit
fi

if [ "$(python3 -c 'import torch; print(torch.cuda.device_count())')" -lt "$ranks" ]; then
  export NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_MNNVL_ENABLE=0 NCCL_NVLS_ENABLE=0
fi
steps() { timeout 600 env "$@" python3 -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$here/steps.py"; }

steps >"$tmp/bare" 2>"$tmp/err"
ok "PyTorch runs without the preload: $(tail -n 1 "$tmp/err")" $?
steps LD_PRELOAD="$build/libcollshim.so" COLLSHIM_MIN_BYTES=0 COLLSHIM_REPORT="$tmp/report-%p" >"$tmp/with" 2>"$tmp/err"
ok "PyTorch runs with the preload: $(tail -n 1 "$tmp/err")" $?
for step in ddp gradients experts; do # exact in any order
  grep -q "^$step " "$tmp/bare" && [ "$(grep "^$step " "$tmp/bare")" = "$(grep "^$step " "$tmp/with")" ]
  ok "$step: the same bits" $?
done
awk '/^fsdp/ { v[n++] = $2 } END { d = v[0] - v[1]; d = d < 0 ? -d : d; exit !(n == 2 && d <= 1e-4 * v[0]) }' "$tmp/bare" "$tmp/with"
ok 'fsdp: the same loss within 1e-4' $?
python3 - "$tmp"/report-*.nccl <<'PY'
import json, sys
rows = [row for path in sys.argv[1:] for row in json.load(open(path))["nccl"]["collectives"]]
for row in rows:
    print(f"# {row['collective']}: {row['calls']} calls, {row['rerouted']} rerouted")
sys.exit(not sum(row["calls"] for row in rows))
PY
ok 'calls are in the report' $?
conclude
