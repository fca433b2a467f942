/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/advice.h"

#include <stddef.h>
#include <string.h>

#include "shim/decide/base/reasons.h"

enum { PROPOSED_BYTES = 16 << 10 }; /* of the clause for REASON_SMALL */

static const struct {
    enum reason reason;
    const char *clause;
} rows[] = {
    {REASON_DISAGREED, "set COLLSHIM_ variables alike on every rank"},
    {REASON_NOT_EVERYWHERE,
     "let LD_PRELOAD reach every rank (Open MPI: mpirun -x LD_PRELOAD; MPICH: -genv)"},
    {REASON_NOT_SEEN, "preload libcollshim.so before MPI_Init"},
    {REASON_SMALL, "try COLLSHIM_MIN_BYTES=16K, with COLLSHIM_MODE=ab to see whether it pays"},
    {REASON_TOPOLOGY, "correct COLLSHIM_TOPOLOGY; `collshim topo` explains one"},
    {REASON_CHOSEN, "take that collective out of COLLSHIM_ALGORITHM"},
    {REASON_EXACT, "unset COLLSHIM_EXACT if another order of rounding is acceptable"},
    {REASON_PROFILE, "tune again: scripts/tune, or unset COLLSHIM_PROFILE"},
    {REASON_RECIPE, "correct the recipe in COLLSHIM_ALGORITHM; `collshim plan` checks it"},
    {REASON_FOREIGN, "call on communicators of one MPI_COMM_WORLD"},
    {REASON_MANY, "free communicators that are done with: 64 at once are rerouted"},
    {REASON_OPERATION, "use predefined operations on predefined types"},
    {REASON_SHAPE, "describe the rails in COLLSHIM_TOPOLOGY if `collshim topo` does not find them"},
    {REASON_SIZE, "check rates with `collshim topo`, and COLLSHIM_MODE=ab for the truth"},
    {REASON_HELPERS, "look at the log for why helpers died; COLLSHIM_PPG=1 does without"},
    {REASON_HELPER_LOST, "look at the log for why helpers died; COLLSHIM_PPG=1 does without"},
    {REASON_ONE_QUEUE, "unset CUDA_DEVICE_MAX_CONNECTIONS"},
    {REASON_OLD, "use NCCL 2.28.7 or later"},
    {REASON_FIRST, "let the job make more calls on each communicator"},
    {REASON_UNPAID, "let the job make more calls on each communicator"},
    {REASON_TURN, "unset COLLSHIM_MODE=ab, which has shown what it can"},
};

static const char *const texts[] = {
#define REASON(id, text, meaning) text,
#include "shim/decide/base/reasons.def"
#undef REASON
};

const char *advice_for(const char *reason)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(texts[rows[i].reason], reason))
            return rows[i].clause;
    return NULL;
}

int advice_reaches(const char *reason, long long bytes)
{
    return advice_for(reason) && (bytes >= PROPOSED_BYTES || strcmp(texts[REASON_SMALL], reason));
}
