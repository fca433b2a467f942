/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of work that a helper is started for. Each is compiled in where its headers were found
 * (Makefile); a helper does one of them for all its life.
 */
#ifndef COLLSHIM_SHIM_HELPER_WORK_H
#define COLLSHIM_SHIM_HELPER_WORK_H

#include "shim/helper/mailbox.h"

struct helper_work {
    struct mailbox *box; /* borrowed */
    int bell;            /* an eventfd that says that the mailbox's bell has rung */
};

/* The thread that works does something: its owner may look at that (silence.h). */
static inline void work_beat(struct mailbox *box)
{
    atomic_fetch_add_explicit(&box->beats, 1, memory_order_relaxed);
}

/* Returns 0, or -1 with the mailbox's `why` set. */
int work_ready_mpi(struct helper_work *w);
int work_ready_nccl(struct helper_work *w);

/* Work until the owner ends: it does not return. */
_Noreturn void work_on_mpi(struct helper_work *w);
_Noreturn void work_on_nccl(struct helper_work *w);

#endif
