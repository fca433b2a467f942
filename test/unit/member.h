/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a collective in a test: its plan, its engine and its buffers with known bytes.
 */
#ifndef COLLSHIM_TEST_UNIT_MEMBER_H
#define COLLSHIM_TEST_UNIT_MEMBER_H

#include <stdint.h>

#include "planners/choose/registry.h"
#include "test/unit/late_device.h"
#include "transports/engine/engine.h"

struct member {
    struct plan *plan;
    struct engine *engine;
    struct xport xport; /* set by the caller before member_open */
    unsigned char *input, *output, *scratch, *host;
    int finished;
    /* For engine tests, set by the caller: its buffers lie on a device, of which the start of so
       many-th a job fails; the call has failed before it begins. */
    int on_device, fail_at, failed;
    int error;         /* the call's result, set by the caller: the output may be anything */
    int parts_done[2]; /* how often the engine said so of each part (engine_buffers.part_done) */
    struct device device;
    struct late_device *late; /* owned; NULL without */
    const unsigned char *held[3][2];
};

/* Build the plan of q->rank, fill the buffers by the seed and begin. */
void member_open(struct member *m, const struct plan_algorithm *a, struct plan_request *q,
                 uint64_t seed);

/* Assert that the output is what the collective means, and free all but the transport. */
void member_close(struct member *m, const struct plan_request *q, int rank, uint64_t seed);

#endif
