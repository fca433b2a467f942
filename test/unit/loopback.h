/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport between ranks of one process, for tests. It buffers nothing: a send and its
 * receive complete only when both are posted, after a random delay, in an order of its own.
 */
#ifndef COLLSHIM_TEST_UNIT_LOOPBACK_H
#define COLLSHIM_TEST_UNIT_LOOPBACK_H

#include <stdint.h>

#include "transports/base/xport.h"

struct loopback;

struct loopback *loopback_open(int nranks, uint64_t seed);
void loopback_attach(struct loopback *net, int rank, struct xport *x);
void loopback_let_lengths_differ(struct loopback *net);  /* else that ends the test */
unsigned loopback_unmatched(const struct loopback *net); /* posted and never met */
void loopback_close(struct loopback *net);

#endif
