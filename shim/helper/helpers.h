/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helpers of this process: started once, when they are first wanted, and gone with it.
 *
 * Any thread may call; a channel belongs to one thread at a time. Orders to a helper go through its
 * mailbox (mailbox.h), on the same channel of each.
 */
#ifndef COLLSHIM_SHIM_HELPER_HELPERS_H
#define COLLSHIM_SHIM_HELPER_HELPERS_H

#include "shim/helper/mailbox.h"

enum { HELPERS_MAX = 63 };

/* The purpose of the helpers. Also notes the environment from the launcher, before the application
   changes it. */
void helpers_init(enum mailbox_work work);

/*
 * Start `wanted` helpers, at most HELPERS_MAX, unless they have been started or given up before.
 * Returns at once: loading a transport library takes each some ten milliseconds of a core.
 */
void helpers_begin(int wanted);

/* Would helpers_start not have to wait? */
int helpers_settled(void);

/*
 * The same as helpers_begin, and wait until they are ready. Returns how many there are; if fewer
 * than wanted, *why is one half sentence (static) that says what kept the next one.
 */
int helpers_start(int wanted, const char **why);

/* How many cores they and this process share. */
int helpers_cores(void);

/* All helpers end, in any state: from then on only a store in progress is finished, and no other
   order. They are not started again. */
void helpers_dismiss(void);

/* A channel for a communicator, or -1 if there is none left. */
int helpers_take_channel(void);
void helpers_return_channel(int channel);

/* The address of a helper's worker. */
const void *helpers_address(int helper, size_t *bytes);

/* 0 if the helper reads and writes this process's memory; else the errno that says no. */
int helpers_unreachable(int helper);

/* Is a helper alive, and not dismissed? No system call. */
int helpers_lives(int helper);

/* For work that has orders of its own, in the payload: there is something to be seen. */
void helpers_ring(int helper);

/* Likewise, while it should work: does it do nothing, and has so been ended? Often called, by one
   thread for each channel; a system call each second. */
int helpers_silent(int helper, int channel);

/* Room in a channel's payload or window, mapped here; NULL if there is none. Each call may return
   another address; the contents stay. */
char *helpers_payload(int helper, int channel, size_t bytes);
char *helpers_window(int helper, int channel, size_t bytes);

/* Give an order, once the one before has been finished. */
void helpers_post(int helper, int channel, const struct mailbox_order *order);

/* How far it is. A helper that is dead, or dismissed, has failed. So has one that does nothing for
   some seconds, which is ended (silence.h); one that stores only fails once it is gone. */
enum helpers_state { HELPERS_WORKS, HELPERS_DONE, HELPERS_FAILED };
enum helpers_state helpers_look(int helper, int channel);

/* Has it finished what it was told, well or not? */
int helpers_answered(int helper, int channel);

#endif
