/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives in flight, and the counts of ended ones: calls of each size by algorithm, protocol
 * and channels, and the GPU's time.
 *
 * Thread rule: any thread; NCCL's proxy and profiler threads tell of kernels.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_TALLY_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "config/base/json.h"
#include "planners/choose/variants.h"

enum { TALLY_NAME = 32 };

/* A call as NCCL tells of it. */
struct tally_call {
    const char *function, *datatype, *algorithm, *protocol; /* NCCL's words; borrowed */
    size_t count;
    int channels; /* 0: not known */
};

/* A communicator; the handles of its events hold until tally_close. NULL: no memory. */
struct tally_comm;
struct tally_comm *tally_open(int nranks, int nnodes);
void tally_close(struct tally_comm *c); /* also NULL */

/* A collective was launched: count it. tuned: the tuner is asked in this process. Returns its
   handle, or NULL: its time will not be known. */
void *tally_start(struct tally_comm *c, const struct tally_call *call, int tuned);

/* A channel of its kernel started, or stopped. parent: its handle, or NULL. Returns the channel's
   handle, or NULL. */
void *tally_channel_start(void *parent, unsigned channel, uint64_t nanoseconds);
void tally_channel_time(void *handle, uint64_t nanoseconds);

/* Any of these handles ended. The last channel's end is the collective's. */
void tally_stop(void *handle);

/* The list "choices" of the report, and calls for which it had no room. */
void tally_report(struct json *j);

#endif
