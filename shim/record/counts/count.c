/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/counts/count.h"

#include <time.h>

#include "planners/choose/variants.h"
#include "shim/decide/base/floats.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/counts/count_series.h"
#include "shim/record/sites/call_site.h"

struct counters counters COUNT_ALIGNED;

static uint64_t add(uint64_t *counter, uint64_t n)
{
    return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void count_native(enum plan_collective c, enum reason why)
{
    site_note_native(c, why);
    if (add(&counters.live.native[c][why], 1) == 0)
        say(CFG_LEVEL_INFO, "%s%s runs natively: %s", settings.calls, plan_collective_name(c),
            reason_texts[why]);
}

static void count_timed(enum plan_collective c, int row, uint64_t total, double seconds)
{
    int k = histogram_size_class(total), way = row == COUNT_LIBRARY ? COUNT_NATIVE : COUNT_REROUTED;

    add(&counters.calls[c][k][way], 1);
    add(&counters.nanoseconds[c][k][way], (uint64_t)(seconds * 1e9));
    if (seconds > 0)
        count_series_add(c, k, row, seconds * 1e6);
}

void count_timed_native(enum plan_collective c, uint64_t total, double seconds)
{
    count_timed(c, COUNT_LIBRARY, total, seconds);
}

int count_row(const struct plan_algorithm *a)
{
    const struct plan_variant *v = plan_variant_of(a);
    int row = v ? COUNT_REGISTRY + plan_variant_place(v) : 0;

    while (!v && row < COUNT_REGISTRY - 1 && (row >= plan_row_count || plan_algorithms[row] != a))
        row++;
    return row < COUNT_NAMES ? row : COUNT_NAMES - 1;
}

/* Returns the row. */
static int add_carried(enum plan_collective c, const struct plan_algorithm *a, int processes,
                       uint64_t total)
{
    int row = count_row(a);

    if (add(&counters.by_processes[c][processes], 1) == 0)
        say(CFG_LEVEL_INFO, "%s%s is rerouted by %s", settings.calls, plan_collective_name(c),
            a ? a->name : "library");
    add(&counters.live.bytes[c], total);
    add(&counters.live.rows[c][row], 1);
    return row;
}

static int count_carried(enum plan_collective c, const struct plan_algorithm *a, int processes,
                         uint64_t total)
{
    int row = add_carried(c, a, processes, total);

    site_note_rerouted(c, row);
    site_note_bytes(total);
    return row;
}

void count_sized(enum plan_collective c, const struct plan_algorithm *a, uint64_t total)
{
    add_carried(c, a, 1, total);
    add(&counters.started[c], 1);
}

void count_started(enum plan_collective c, const struct plan_algorithm *a, int processes,
                   uint64_t total)
{
    count_carried(c, a, processes, total);
    add(&counters.started[c], 1);
}

void count_rerouted(enum plan_collective c, const struct plan_algorithm *a, int processes,
                    uint64_t total, double seconds)
{
    int row = count_carried(c, a, processes, total);

    if (!settings_want_report())
        return;
    count_timed(c, row, total, seconds);
    add(&counters.by_row[c][histogram_size_class(total)][row], 1);
}

static void add_verdict(enum plan_collective c, int k, const struct guard_verdict *v, int64_t by)
{
    add(&counters.verdicts[c][k][v->contender != GUARD_NATIVE], (uint64_t)by);
    add(&counters.ratios[c][k], (uint64_t)((int64_t)(v->against.mean * COUNT_PARTS) * by));
    add(&counters.spreads[c][k], (uint64_t)((int64_t)(v->against.spread * COUNT_PARTS) * by));
}

void count_verdict(enum plan_collective c, uint64_t total, const struct guard_verdict *now,
                   const struct guard_verdict *before)
{
    int k = histogram_size_class(total);

    if (before->known)
        add_verdict(c, k, before, -1);
    add_verdict(c, k, now, 1);
    if (!before->known || before->contender != now->contender)
        count_series_verdict(c, k, now->contender != GUARD_NATIVE);
}

void count_sliced(enum plan_collective c, int on_device, int redone)
{
    add(&counters.sliced[c][0], 1);
    add(&counters.sliced[c][1], on_device);
    add(&counters.sliced[c][2], redone);
}

void count_carried_meanwhile(enum plan_collective c, int meanwhile, int redone)
{
    count_sliced(c, 0, redone);
    add(&counters.sliced[c][3], meanwhile);
}

void count_exchange(enum count_exchange what, uint64_t n)
{
    add(&counters.exchange[what], n);
}

void count_verified(enum plan_collective c, int equal)
{
    add(&counters.verified[c][equal], 1);
}

double count_now(void)
{
    FLOATS_OURS;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
