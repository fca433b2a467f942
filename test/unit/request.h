/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of bytes. Other fields may follow the chunk: REQUEST(COLL_BCAST, t, 9, 4, .root = 3)
 */
#ifndef COLLSHIM_TEST_UNIT_REQUEST_H
#define COLLSHIM_TEST_UNIT_REQUEST_H

#include "planners/plan/collective.h"

#define REQUEST(which, topology, length, chunk, ...)                                               \
    ((struct plan_request){.collective = (which),                                                  \
                           .topo = (topology),                                                     \
                           .nbytes = (length),                                                     \
                           .grain = 1,                                                             \
                           .chunk_bytes = (chunk),                                                 \
                           ##__VA_ARGS__})

#endif
