/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/sites/call_site.h"

#include <time.h>

#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/sites/caller.h"

uint64_t site_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int several_threads;

void site_open(int threads)
{
    several_threads = threads;
    if (site_table_open() < 0)
        say(CFG_LEVEL_WARN, "the report will name no call sites: out of memory");
    else
        caller_open();
}

/* The stack grows down: a call further in is inside the one that is under way. One further out
   shows that an error handler has jumped out of that. */
void site_enter(const void *from, const char *cfa)
{
    if (site_now.cfa && cfa < site_now.cfa)
        return;
    site_now = (struct site_call){
        .from = from, .cfa = cfa, .began = site_clock(), .ended = site_now.ended};
}

/* An atomic addition waits for its cache line; four of them are half of what a call costs. */
static void add(uint64_t *counter, uint64_t n)
{
    if (several_threads)
        __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
    else
        *counter += n;
}

static void add_one(uint32_t *counter)
{
    if (several_threads)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    else
        ++*counter;
}

/* The library's first call opens connections: its time says nothing of the next. Nor does that of a
   call that went both ways. */
static int is_timed(const struct site_call *s)
{
    if (settings.cfg.mode == CFG_MODE_VERIFY)
        return 0;
    return s->rerouted || (s->reason != REASON_FIRST && s->reason != REASON_UNTRIED);
}

struct site_row *site_row_of(unsigned site, enum plan_collective c, uint64_t bytes, uint32_t ranks,
                             uint32_t nodes)
{
    return site_table_row(&(struct site_key){.site = (uint16_t)site,
                                             .collective = (uint8_t)c,
                                             .size_class = (uint8_t)histogram_size_class(bytes),
                                             .ranks = ranks,
                                             .nodes = nodes});
}

void site_add_call(struct site_row *r, int way, uint8_t what, uint64_t bytes)
{
    add(&r->bytes, bytes);
    add(&r->calls[way], 1);
    site_vote(way == SITE_REROUTED ? &r->algorithm : &r->reason, what, 1);
}

void site_add_time(struct site_row *r, int way, uint64_t ns)
{
    add(&r->nanoseconds[way], ns);
    add_one(&r->bins[way][histogram_bin(ns)]);
}

uint64_t site_count(uint32_t ranks, uint32_t nodes)
{
    struct site_call *s = &site_now;
    uint64_t now = site_clock(), took = now - s->began;

    if (!site_table)
        return now;
    struct site_row *r = site_row_of(caller_site(s->from, s->cfa),
                                     (enum plan_collective)s->collective, s->bytes, ranks, nodes);
    s->row = (uint16_t)(r - site_table->row);
    site_add_call(r, s->rerouted, s->rerouted ? s->algorithm : s->reason, s->bytes);
    if (is_timed(s))
        site_add_time(r, s->rerouted, took);
    else
        add(&r->nanoseconds[s->rerouted], took);
    return now;
}
