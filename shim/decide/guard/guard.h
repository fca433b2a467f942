/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard chooses between the library's call (contender 0) and a few reroutes. It takes the one
 * measured to be fastest, per communicator, collective and size class, and loses little time by
 * measuring. worth.h weighs a trial against its possible gain.
 *
 * A round is one call of each contender that is worth it, the one in use among them. All ranks then
 * agree on its times, and all follow the same path from there. The slowest rank's time counts: in a
 * rooted collective the others may end long before the result is there. Between rounds no call is
 * timed or agreed on.
 *
 * A size class is a power of two of the collective's bytes. Calls of one sum of bytes take part, so
 * that times can be compared; calls of other sums take the contender in use. If no sum comes back,
 * all calls of the class take part, and times are compared by the byte. Exchanges of one sum of
 * bytes may take ten times as long when all of it goes to one rank. So a class of exchanges also
 * has one skew (nimble_skew). Calls in device memory have classes of their own.
 *
 * A call may leave full queues behind, spent bursts of a rate limiter, or other caches. That must
 * not count for another contender. First tries tell far contenders apart all the same. Near ones
 * are compared in runs, as they are used later: each is called several times in a row, and the
 * last few calls are measured.
 *
 * A clock may answer later, as events on a stream do: hundreds of calls later, if a host runs
 * ahead (guard_deferred.h). The calls meanwhile take the contender in use. All slots have two calls
 * there. Ranks do not end an uneven exchange together, so the call behind it waits for the last
 * rank.
 *
 * All ranks make the same calls in the same order, so all are at the same point. This file knows no
 * library: the caller brings the clock and the agreement. Thread rule: the communicator's: one
 * thread at a time.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_H
#define COLLSHIM_SHIM_DECIDE_GUARD_H

#include <stdint.h>

#include "shim/decide/guard/guard_entry.h"

/* Without entries. deferred, now: as in the struct. */
void guard_open(struct guard *g, int deferred, double (*now)(void));

/* The entry of that collective, kind (less than GUARD_KINDS) and size; a new one is all zero but
   for its clock's `deferred`. kind: what is measured apart, as exchanges by their skew, or calls by
   where the buffers are. NULL: all entries are in use. */
struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total);

/* The same, if there is one and it has had a verdict; else NULL. */
const struct guard_entry *guard_known(const struct guard *g, enum plan_collective c, unsigned kind,
                                      uint64_t total);

/* The first entry of that collective, of any kind and size, whose verdict is a reroute; or NULL. */
const struct guard_entry *guard_favours(const struct guard *g, enum plan_collective c);

/* Is nothing to be timed? Counts the call if so. The contender is e->best then. */
int guard_settled(struct guard_entry *e);

/* If not settled: shall candidates be handed in by guard_begin before guard_pick? Without
   candidates the entry is settled on the library for good. Entries of the same collective and kind
   in near classes tell what to expect. Recipes are borrowed for as long as the entry lives. */
int guard_wants_candidates(const struct guard_entry *e);
void guard_begin(struct guard *g, struct guard_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n);

/* Have the calls so far taken so long that `cost` seconds are the share of them that trials may
   lose? The least of predicted and measured times counts: predictions may be far too long. Only
   between rounds, and true once. */
int guard_affords(struct guard_entry *e, double cost);

/* Behind that: one more contender, of which only the prediction is known. None where all places are
   taken. */
void guard_offer(struct guard_entry *e, const struct plan_candidate *c);

/* Contender i; NULL: there is none, or it is the library. */
const struct plan_candidate *guard_way(const struct guard_entry *e, int i);

/* Behind guard_begin: the findings of earlier jobs. They are the logarithm of each contender's time
   through the library's; spread 0: unknown. The entry is settled on them, and looks soon. */
void guard_recall(struct guard *g, struct guard_entry *e,
                  const struct estimate known[GUARD_CONTENDERS]);

/* If not settled: the contender of this call. *slot: its slot if it is to be timed, else
   GUARD_UNTIMED. After a timed slot guard_note or guard_cannot must follow. */
int guard_pick(struct guard *g, struct guard_entry *e, uint64_t total, int *slot);

/* The call of that slot took so many seconds on this rank. A deferred clock answers when the round
   is due; infinite: it is not known yet. */
void guard_note(struct guard_entry *e, int slot, double seconds);

/* The reroute of that slot cannot serve, on all ranks alike. why: becomes e->why if none can. */
void guard_cannot(struct guard_entry *e, int slot, unsigned why);

/* Is it time to conclude the round? Asked behind a call; with a deferred clock before it. */
int guard_due(const struct guard_entry *e);

/* Replace n values by the largest of any rank: collective. 0, or -1 if that failed. */
typedef int (*guard_agree)(void *context, double *value, int n);

/* Agree on the round's times, and draw conclusions. Collective. Returns 1 if e->verdict was made
   anew, else 0. If agreeing failed, the entry is settled on the library for good. */
int guard_conclude(struct guard *g, struct guard_entry *e, guard_agree agree, void *context);

/* All ranks have found that the machine is another one. Contenders that lost against the library,
   or that were not worth a trial, come back. A schedule in use stays: its looks go on. Not between
   guard_pick and guard_conclude. */
void guard_renew(struct guard *g);

/*
 * Rails have changed: the library is now expected to take so many times as long as a reroute that
 * suits them. If a trial would cost more than 3 calls, there is none until its cost is at most the
 * share of the calls that trials may lose. At 10 times that is after 144 calls, at 100 times after
 * 1,584. All that is known of the library is forgotten, if that makes a difference.
 */
void guard_spare(struct guard *g, double times);

/* Is there an entry that is not settled on the library? The same on all ranks. */
int guard_gains(const struct guard *g);

/* Is the contender of the verdict another one than that of the verdict before? */
int guard_is_news(const struct guard_entry *e);

#endif
