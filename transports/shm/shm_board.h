/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's board: short messages that it copies to shared memory once, as notices, however many
 * ranks read them. Their sender is done at once. A notice has a count of who has yet to read it;
 * its place is free again when that is zero.
 *
 * Thread rule: as the transport (shm.h); one struct board per rank, of its own board.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_BOARD_H
#define COLLSHIM_TRANSPORTS_SHM_BOARD_H

#include <stddef.h>

#include "transports/shm/shm_segment.h"

struct board {
    const struct shm_segment *segment; /* borrowed */
    int me;
    uint32_t open;                      /* notices that may get further readers, a bit each */
    const void *source[SHM_NOTICES];    /* of these, the bytes they were copied from... */
    size_t length[SHM_NOTICES];         /* ... and how many */
    struct shm_notice *at[SHM_NOTICES]; /* borrowed: the segment's */
};

void board_open(struct board *b, const struct shm_segment *segment, int me);

/*
 * One reader more of these bytes (at most SHM_NOTICE_BYTES): of an open notice that holds them, or
 * of a new one. Returns the notice, or -1 if there is no room.
 */
int board_put(struct board *b, const void *source, size_t length);

/* From here on what the notices were copied from may change: none gets further readers. */
void board_close(struct board *b);

/* A reader has the bytes. */
void board_read(struct shm_notice *n);

#endif
