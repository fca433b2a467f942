/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper that lives and does nothing: it was stopped (SIGSTOP), or it hangs. Its owner asks
 * it once a second, by the mailbox's bell, and a helper that does anything counts `beats` on.
 *
 * Time alone proves nothing, on a busy machine or where the owner itself was stopped. So only asks
 * count, and the owner makes one each second at most. A stopped helper is told by its state. A
 * runnable one that does not come to work, or one that waits for a disk, has much longer.
 * A helper of NCCL's may wait in a call for other processes for as long as they like, so that there
 * only its state counts.
 */
#ifndef COLLSHIM_SHIM_HELPER_SILENCE_H
#define COLLSHIM_SHIM_HELPER_SILENCE_H

#include <sys/stat.h>

#include "shim/helper/mailbox.h"

/* All zero: nothing has been asked. One thread at a time. */
struct silence {
    int64_t asked_ms; /* the last time */
    uint32_t beats;   /* then */
    int unanswered;   /* asks since it has done something */
    int stopped;      /* of these, the last ones that found it stopped */
};

/* Asks until it counts as lost: of a helper that is stopped, and of any other. */
extern int silence_stopped_most, silence_most;

/* Look, and ask when it is time. Returns 1 once the helper counts as lost. Costs a clock. */
int silence_is_loss(struct silence *s, struct mailbox *box, const struct stat *file);

/*
 * End it, in any state, by SIGKILL. file: of its mailbox, by which its process is known for sure.
 * Returns at once; it is gone when its mutex says so. Where the process cannot be found or may not
 * be killed, it ends by itself as soon as it works again, before it takes another order.
 */
void silence_end(struct mailbox *box, const struct stat *file);

#endif
