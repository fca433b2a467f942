/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that the ranks of one node share for one communicator. Every ordered pair of ranks has
 * a ring of posts (its sends), a ring of answers (the receiver's replies) and a few cells for
 * bytes. Every rank has a board of notices (shm_board.h). Each ring has one writer and one reader,
 * so counters are enough. The writer of an entry releases its counter, and the reader acquires it.
 * No entry is used again before the other side's counter has passed it.
 *
 * The memory has no name (shm_file.h). Pages exist once they are touched; pairs that never talk
 * cost addresses only.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_SEGMENT_H
#define COLLSHIM_TRANSPORTS_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/base/device.h"
#include "transports/shm/shm_joint.h"

enum { SHM_POSTS = 32, SHM_ANSWERS = 32, SHM_CELLS = 4 };
enum { SHM_NOTICES = 8, SHM_NOTICE_BYTES = 128 << 10 };

/* A send: `length` bytes at `address` of the sender, and its slot there; 0: its call has failed.
   Or of a notice of the sender's, which is not answered. */
struct shm_post {
    uint64_t address;
    uint64_t length;
    uint32_t slot;
    uint32_t tag;
    uint32_t lent;   /* `address` counts from the start of the sender's window */
    uint32_t notice; /* counted from 1; 0: none */
};

/* The state of a window: offered by the sender, opened by the receiver's device, and used until
   that device has left. It is closed too if it cannot be opened, or its sender withdraws the offer.
 */
enum shm_window {
    SHM_WINDOW_NONE,
    SHM_WINDOW_OFFERED,
    SHM_WINDOW_OPENING,
    SHM_WINDOW_ACCEPTED,
    SHM_WINDOW_CLOSED
};

/* The receiver has the bytes (from is SHM_TAKEN), or wants those from `from` on through the cells,
   `step` in each. */
struct shm_answer {
    uint64_t from;
    uint32_t slot;
    uint32_t step;
};
#define SHM_TAKEN UINT64_MAX

/* From one rank to one other. Counters run on and on; a place is the counter modulo the room. */
struct shm_pair {
    struct { /* written by the sender */
        _Alignas(64) _Atomic uint32_t posted;
        _Atomic uint32_t heard; /* answers */
        _Atomic uint32_t filled;
    };
    struct {                                 /* written by the receiver */
        _Alignas(64) _Atomic uint32_t taken; /* posts */
        _Atomic uint32_t answered;
        _Atomic uint32_t emptied;
    };
    _Alignas(64) _Atomic uint32_t window_state; /* enum shm_window */
    struct device_window window;
    _Alignas(64) struct shm_post post[SHM_POSTS];
    _Alignas(64) struct shm_answer answer[SHM_ANSWERS];
    struct shm_joint joint; /* the message that both copy at present */
};

/* How many ranks have yet to read it; 0: its place is free. */
struct shm_notice {
    _Alignas(64) _Atomic uint32_t readers;
};

struct shm_segment {
    char *map;
    size_t bytes, cell_bytes;
    int members;
};

/* Make the file (shm_file.h) a segment for that many members and map it. nonce: any number that
   tells it from others. Returns 0 or -errno. */
int shm_segment_create(struct shm_segment *s, int members, uint64_t nonce, int fd);

/* Map the segment that process pid created under that descriptor. Returns 0 or -errno; -ESTALE if
   what is there is not the segment with that nonce. */
int shm_segment_join(struct shm_segment *s, int members, uint64_t nonce, int pid, int fd);

void shm_segment_close(struct shm_segment *s);

/* The pair of two members, and its cells. */
struct shm_pair *shm_segment_pair(const struct shm_segment *s, int from, int to);
char *shm_segment_cell(const struct shm_segment *s, int from, int to, uint32_t count);

/* A member's notice, [0, SHM_NOTICES), and its bytes. */
struct shm_notice *shm_segment_notice(const struct shm_segment *s, int member, uint32_t notice);
char *shm_segment_notice_bytes(const struct shm_segment *s, int member, uint32_t notice);

#endif
