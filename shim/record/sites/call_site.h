/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call sites: which line of the program calls, how often, how long it takes either way. A wrapper
 * tells its caller's address (site_enter). The deciding code tells how the call ran
 * (site_note_...). At its end the call is counted (site_leave). Off, the backend's wrappers call
 * none of this, and a note is one load.
 *
 * Thread rule: any thread, each for its own calls. A call inside a call, as libraries make them, is
 * not counted. An error handler may jump out of a call: that call is not counted.
 */
#ifndef COLLSHIM_SHIM_RECORD_CALL_SITE_H
#define COLLSHIM_SHIM_RECORD_CALL_SITE_H

#include <stdint.h>

#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"
#include "shim/decide/base/thread_own.h"
#include "shim/record/sites/call_site_table.h"

/* The call that this thread is in. */
struct site_call {
    const void *from;
    const char *cfa; /* NULL: in none */
    uint64_t began;  /* nanoseconds, monotonic */
    uint64_t ended;  /* this thread's call before, as `began` is; 0: there was none */
    uint64_t bytes;  /* of the whole collective; 0: not computed */
    uint8_t noted, rerouted, collective, reason, algorithm;
    uint16_t row;       /* of the table, once it is counted */
    uint64_t combining; /* nanoseconds, if it is watched (shim/mpi/run/watched.h) */
    uint64_t landed;    /* its last message from another host; 0: none, or it is not watched */
};
#define site_now THREAD_OWN(site, struct site_call)

/* Keep sites, from now on. Again: nothing. threads: several may make calls at a time. One thread.
 */
void site_open(int threads);

/* The wrapper's own __builtin_return_address(0) and __builtin_dwarf_cfa(). */
void site_enter(const void *from, const char *cfa);

/* It is over, with the same cfa; to be counted if a decision was noted. Returns 1 if the caller is
   to name the communicator by site_count, else 0. */
static inline int site_is_noted(const char *cfa)
{
    return site_now.cfa == cfa && site_now.noted;
}

/* Nanoseconds of the clock that `began` has. */
uint64_t site_clock(void);

/* Count it: ranks and nodes (0: not known) of the communicator. Returns the time, as `began` is. */
uint64_t site_count(uint32_t ranks, uint32_t nodes);

/* The same in parts, for calls that end later or never. The first finds the row of a call. The
   second counts one call of it, native (with its reason) or rerouted (with the row's number). The
   third adds the time of one of them. Any thread. */
struct site_row *site_row_of(unsigned site, enum plan_collective c, uint64_t bytes, uint32_t ranks,
                             uint32_t nodes);
void site_add_call(struct site_row *r, int way, uint8_t what, uint64_t bytes);
void site_add_time(struct site_row *r, int way, uint64_t ns);

/* It is over. */
static inline void site_leave(const char *cfa)
{
    if (site_now.cfa == cfa)
        site_now.cfa = 0;
}

static inline void site_note_native(enum plan_collective c, enum reason why)
{
    if (site_now.cfa) {
        site_now.noted = 1;
        site_now.rerouted = 0;
        site_now.collective = (uint8_t)c;
        site_now.reason = (uint8_t)why;
    }
}

/* row: as count.h numbers the registry's. */
static inline void site_note_rerouted(enum plan_collective c, int row)
{
    if (site_now.cfa) {
        site_now.noted = site_now.rerouted = 1;
        site_now.collective = (uint8_t)c;
        site_now.algorithm = (uint8_t)row;
    }
}

static inline void site_note_bytes(uint64_t total)
{
    if (site_now.cfa)
        site_now.bytes = total;
}

#endif
