/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport over UCX: processes that are in no MPI job reach each other by worker addresses,
 * which the caller exchanges for them. Found at run time (dlopen): nothing is linked.
 *
 * Only a process of collshim's own opens UCX. In an application's process it and the application's
 * MPI would share its memory hooks, signal handlers and environment.
 *
 * One thread uses a struct ucx and all its transports.
 */
#ifndef COLLSHIM_TRANSPORTS_UCX_H
#define COLLSHIM_TRANSPORTS_UCX_H

#include <stddef.h>
#include <stdint.h>

#include "transports/base/xport.h"

/* One worker: its address, and the object that is polled. */
struct ucx;

/*
 * Load UCX and make a worker, set up by UCX's own variables (UCX_TLS, UCX_NET_DEVICES ...).
 * Returns 0 and *u_p (free with ucx_close), or -ENOTSUP or -ENOMEM with half a sentence in why.
 */
int ucx_open(struct ucx **u_p, char *why, size_t why_size);
void ucx_close(struct ucx *u); /* NULL is fine; its transports must have been closed */

/* The worker's address, to be handed to peers; borrowed from u. */
const void *ucx_address(const struct ucx *u, size_t *bytes);

/* Move on with everything. Peers may need this at any time, not only while there is a plan to run:
   call it whenever ucx_event_fd() is readable. Returns 1 if a message of any transport ended since
   the last call, so that a transport may have work. */
int ucx_progress(struct ucx *u);

/* A descriptor that becomes readable when there is something to do; owned by u. */
int ucx_event_fd(const struct ucx *u);

/* Before sleeping on the descriptor: 1 if the caller may sleep, 0 if ucx_progress() has work first.
 */
int ucx_may_sleep(struct ucx *u);

/*
 * A transport between the nranks workers of those addresses, address_bytes each, of which this is
 * number rank. team: tells teams that share a member apart, the same on all members, below
 * UCX_TEAMS. addresses: borrowed. Connections are made with the first message; workers that are in
 * several teams share them. Returns 0 and *x (close with xport_ucx_close), or -ENOMEM. -E2BIG:
 * there are more ranks than the matching has bits for.
 */
enum { UCX_TEAMS = 1 << 24 };
int xport_ucx_open(struct ucx *u, uint32_t team, int rank, int nranks, const void *addresses,
                   size_t address_bytes, struct xport *x);
void xport_ucx_close(struct xport *x); /* all zero is fine */

#endif
