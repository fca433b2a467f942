/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helpers of this process: started once, when they are first wanted, and gone with it.
 *
 * Any thread may call; a channel belongs to one thread at a time. Orders to a helper go through its
 * mailbox (mailbox.h), on the same channel of each.
 */
#ifndef COLLSHIM_SHIM_HELPER_CREW_H
#define COLLSHIM_SHIM_HELPER_CREW_H

#include "shim/helper/mailbox.h"

enum { CREW_MAX = 63 };

/* The purpose of this crew. Also notes the environment from the launcher, before the application
   changes it. */
void crew_init(enum mailbox_work work);

/*
 * Start `wanted` helpers, at most CREW_MAX, unless they have been started or given up before.
 * Returns at once: loading a transport library takes each some ten milliseconds of a core.
 */
void crew_begin(int wanted);

/* Would crew_start not have to wait? */
int crew_settled(void);

/*
 * The same as crew_begin, and wait until they are ready. Returns how many there are; if fewer than
 * wanted, *why is one half sentence (static) that says what kept the next one.
 */
int crew_start(int wanted, const char **why);

/* How many cores they and this process share. */
int crew_cores(void);

/* All helpers end, in any state: from then on only a store in progress is finished, and no other
   order. They are not started again. */
void crew_dismiss(void);

/* A channel for a communicator, or -1 if there is none left. */
int crew_take_channel(void);
void crew_return_channel(int channel);

/* The address of a helper's worker. */
const void *crew_address(int helper, size_t *bytes);

/* 0 if the helper reads and writes this process's memory; else the errno that says no. */
int crew_unreachable(int helper);

/* Is a helper alive, and not dismissed? No system call. */
int crew_lives(int helper);

/* For work that has orders of its own, in the papers: there is something to be seen. */
void crew_ring(int helper);

/* Room in a channel's papers or window, mapped here; NULL if there is none. Each call may return
   another address; the contents stay. */
char *crew_papers(int helper, int channel, size_t bytes);
char *crew_window(int helper, int channel, size_t bytes);

/* Give an order, once the one before has been finished. */
void crew_post(int helper, int channel, const struct mailbox_order *order);

/* How far it is. A helper that is dead, or dismissed, has failed. */
enum crew_state { CREW_WORKS, CREW_DONE, CREW_FAILED };
enum crew_state crew_look(int helper, int channel);

/* Has it finished what it was told, well or not? */
int crew_answered(int helper, int channel);

#endif
