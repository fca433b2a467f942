#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_order.sh: scripts/check-order accepts this tree, and names what breaks the order of rooms.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

for part in config planners transports shim; do cp -a "$root/$part" "$tmp"; done
check "the tree keeps the order" scripts/check-order "$tmp"

# names CLAIM FILE LINE EXPECTED: with that line at its end, the file is named with EXPECTED
names() {
    cp "$tmp/$2" "$tmp/kept"
    echo "$3" >>"$tmp/$2"
    local status=0 found
    found=$(scripts/check-order "$tmp") || status=$?
    if [[ $status -eq 1 && $(wc -l <<<"$found") -eq 1 && $found == "$2:$(wc -l <"$tmp/$2"): "*"$4"* ]]; then
        pass "$1"
    else
        fail "$1" "status $status: $found"
    fi
    mv "$tmp/kept" "$tmp/$2"
}
names "a folder that includes one above it is named" planners/plan/plan.c '#include "shim/decide/base/say.h"' "right: planners includes config, planners alone"
names "a room of config that includes a higher one is named" config/topo/topo.c '#include "config/settings/settings.h"' "the higher room settings"
names "so is one of planners" planners/model/model.c '#include "planners/algorithms/lane/lane.h"' "the higher room algorithms"
names "so is one of transports" transports/engine/engine.c '#include "transports/shm/shm.h"' "the higher room shm"
names "so is one of the command" shim/cli/cli.c '#include "shim/cli/report/call_sites.h"' "the higher room report"
names "a room that includes a higher one is named" shim/mpi/call/call.c '#include "shim/mpi/entry/report.h"' "the higher room entry"
names "a folder of shim that includes a higher one is named" shim/decide/base/say.c '#include "shim/record/sites/walk.h"' "the higher room record"
names "so is one of the other backend" shim/nccl/comm/comm.c '#include "shim/nccl/run/set.h"' "the higher room run"
names "two units of a room that need each other are named" shim/mpi/api/calls.c '#include "shim/mpi/api/process.h"' "units need each other"
names "so are two of any other folder" planners/model/model_events.c '#include "planners/model/model_sim.h"' "units need each other"
names "headers that include each other are named" config/topo/topo.h '#include "config/topo/topo_private.h"' "files include each other"
touch "$tmp/shim/mpi/stray.c"
check "a file in no room is named" grep -q "^shim/mpi/stray.c:1: it lies in no room" <(scripts/check-order "$tmp")
conclude
