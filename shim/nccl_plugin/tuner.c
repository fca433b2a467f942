/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuner. NCCL calls it for each call, with its own costs of all pairs of algorithm and
 * protocol. The named pair gets the cost 0, so that NCCL takes it. A pair that NCCL cannot use here
 * stays as it is, and so does everything else. The tuner reads only whether NCCL can use a pair,
 * which is alike on all ranks.
 */
#include <stdlib.h>

#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/nccl_plugin/abi.h"
#include "shim/nccl_plugin/entry.h"
#include "shim/nccl_plugin/names.h"
#include "shim/nccl_plugin/plugin.h"
#include "shim/nccl_plugin/report.h"

struct tuner_comm {
    int nranks, nnodes;
};

static void log_line(abi_logger log, int level, const char *what)
{
    if (log)
        log(level, ABI_LOG_INIT | ABI_LOG_TUNING, __FILE__, __LINE__,
            "collshim %s: %s%s%s, hash %016llx; %d %s", settings_version, what,
            settings.cfg.profile[0] ? ", profile " : "", settings.cfg.profile,
            (unsigned long long)tuning_hash(&settings.tuning), plugin_rows(),
            "rows for NCCL's own algorithms");
}

/* Without memory the communicator has no context, and NCCL chooses. An error would end its init. */
static int open_comm(int version, void **context, size_t nranks, size_t nnodes, abi_logger log)
{
    struct tuner_comm *c;

    *context = NULL;
    if (plugin_refuses()) {
        log_line(log, ABI_LOG_WARN,
                 "a bad setting is refused (COLLSHIM_STRICT, or a profile of another hash than its "
                 "name has)");
        return ABI_INVALID_USAGE;
    }
    log_line(log, ABI_LOG_INFO, "NCCL's tuner");
    plugin_report_tuner(version);
    c = malloc(sizeof *c);
    if (c)
        *c = (struct tuner_comm){.nranks = (int)nranks, .nnodes = (int)nnodes};
    *context = c;
    return ABI_SUCCESS;
}

static int open_v4(size_t nranks, size_t nnodes, abi_logger log, void **context)
{
    return open_comm(4, context, nranks, nnodes, log);
}

static int open_v5(void **context, uint64_t comm, size_t nranks, size_t nnodes, abi_logger log,
                   void *domains, void *constants)
{
    (void)comm;
    (void)domains;
    (void)constants;
    return open_comm(5, context, nranks, nnodes, log);
}

static int open_v6(void **context, uint64_t comm, size_t nranks, size_t nnodes, abi_logger log,
                   void *domains, void *constants)
{
    (void)comm;
    (void)domains;
    (void)constants;
    return open_comm(6, context, nranks, nnodes, log);
}

static int choose(void *context, int collective, size_t bytes, int operations, float **costs,
                  int nalgorithms, int nprotocols, int registered, int *channels)
{
    const struct tuner_comm *c = context;
    int id = names_collective_number(collective), algorithm, protocol, most;
    float *table = (float *)costs; /* the interface's type is not what it points to */
    const struct plan_variant *v;

    (void)operations;
    (void)registered; /* each rank's own affair */
    if (!c || id < 0)
        return ABI_SUCCESS;
    v = plugin_choose((enum plan_collective)id, c->nranks, c->nnodes, bytes, &most);
    if (!v)
        return ABI_SUCCESS;
    names_indices(v, &algorithm, &protocol);
    if (algorithm >= nalgorithms || protocol >= nprotocols)
        return ABI_SUCCESS;
    table += algorithm * nprotocols + protocol;
    if (*table < 0)
        return ABI_SUCCESS;
    *table = 0;
    if (most)
        *channels = most;
    return ABI_SUCCESS;
}

static int close_comm(void *context)
{
    free(context);
    return ABI_SUCCESS;
}

static const struct abi_tuner_v4 tuner_v4 = {
    .name = ENTRY_NAME, .init = open_v4, .choose = choose, .destroy = close_comm};
static const struct abi_tuner_v5 tuner_v5 = {
    .name = ENTRY_NAME, .init = open_v5, .choose = choose, .finalize = close_comm};
static const struct abi_tuner_v6 tuner_v6 = {
    .name = ENTRY_NAME, .init = open_v6, .choose = choose, .finalize = close_comm};

ENTRY(ncclTunerPlugin_v4, tuner_v4, plugin_wants_tuner)
ENTRY(ncclTunerPlugin_v5, tuner_v5, plugin_wants_tuner)
ENTRY(ncclTunerPlugin_v6, tuner_v6, plugin_wants_tuner)
