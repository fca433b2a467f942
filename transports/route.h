/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport that is two: ranks of the own node are reached through one, all others through the
 * other, with one numbering of slots. When nothing moves, the other one is polled even if nothing
 * is in flight on it: a rank that waits inside a collective owes the library's other traffic
 * progress, and may be waiting for a rank that waits for that.
 */
#ifndef COLLSHIM_TRANSPORTS_ROUTE_H
#define COLLSHIM_TRANSPORTS_ROUTE_H

#include "transports/xport.h"

/*
 * near, far: borrowed. is_near: [nranks], non-zero for ranks reached through near; copied.
 * Returns 0 and *x (close with xport_route_close), or -ENOMEM.
 */
int xport_route_open(struct xport *near, struct xport *far, const unsigned char *is_near,
                     int nranks, struct xport *x);
void xport_route_close(struct xport *x); /* not opened is fine */

#endif
