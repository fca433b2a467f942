/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport made of two: one reaches the ranks of the own node, the other all other ranks; slots
 * have one numbering. When nothing moves, the far one is polled even if nothing is in flight on it.
 * A rank that waits inside a collective owes the library's other traffic progress. It may wait for
 * a rank that waits for that traffic.
 */
#ifndef COLLSHIM_TRANSPORTS_ROUTE_H
#define COLLSHIM_TRANSPORTS_ROUTE_H

#include "transports/base/xport.h"

/*
 * near, far: borrowed. is_near: [nranks], non-zero for ranks reached through near; copied.
 * Returns 0 and *x (close with xport_route_close), or -ENOMEM.
 */
int xport_route_open(struct xport *near, struct xport *far, const unsigned char *is_near,
                     int nranks, struct xport *x);
void xport_route_close(struct xport *x); /* not opened is fine */

#endif
