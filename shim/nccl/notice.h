/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notice board: how the ranks of a communicator agree on something without NCCL, a stream or a
 * GPU. The process that made the communicator's unique id keeps the board, a thread and a socket at
 * the address that the id holds anyway for NCCL's own start-up; the board's port stands in bytes of
 * the id that NCCL leaves unused. A rank posts a note under a key; when all ranks have, each gets
 * all notes. If they have not NOTICE_PATIENCE_S after the first, all get none, whoever comes later
 * included. The keeper alone decides, once, and a rank that has posted waits for its word: so all
 * are told the same, also by a keeper that is stopped for a while.
 *
 * Why not a collective: a rank without this library would not take part, and the others would hang.
 * And a stream may be blocked until the host returns from the very call that would wait for it.
 *
 * Rejected as well: a broadcast through MPI or a launcher, which a program that uses NCCL need not
 * have.
 */
#ifndef COLLSHIM_SHIM_NCCL_NOTICE_H
#define COLLSHIM_SHIM_NCCL_NOTICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <nccl.h>

enum { NOTICE_BYTES = 80, NOTICE_MOST = 4096, NOTICE_PATIENCE_S = 5 };

/* That patience, for tests of the keeper. */
extern int notice_patience_ms;

/* Where a board is. */
struct notice_board {
    struct sockaddr_storage address;
    socklen_t length;
    uint64_t token; /* random, in the id: whoever does not know it is not listened to */
};

/* Keep a board for a new id, and write where into it. Without one (no address in the id, no socket)
 * the id stays as it is, and no rank finds a board. Any thread. */
void notice_keep(ncclUniqueId *id);

/* The board that an id names. Returns 0, or -ENOENT if there is none. */
int notice_find(const ncclUniqueId *id, struct notice_board *board);

/*
 * Post this rank's note, `bytes` long on all ranks and at most NOTICE_MOST, under a key that is new
 * and the same on all ranks. Returns a descriptor for notice_read(), which closes it, or -1: nobody
 * will get the notes. Does not wait for others.
 */
int notice_post(const struct notice_board *board, uint64_t key, int nranks, int rank,
                const void *note, size_t bytes);

/*
 * Wait for the notes of all ranks, about NOTICE_PATIENCE_S at most if the keeper is at work; if it
 * is stopped, until it goes on; if it has gone, no longer. *stop (may be NULL) ends the wait when
 * it is set. note: [nranks * bytes]. Returns 0, or -1: no rank got them.
 */
int notice_read(int fd, int nranks, void *note, size_t bytes, const int *stop);

/*
 * An alarm, for what comes at any time: listen to one under a key, ring it, and ask without waiting
 * whether anybody rang. notice_listen() returns a descriptor, to be closed, once the board knows of
 * it, or -1. A rank that ends without ringing is not heard of. notice_rang() returns 1, 0, or -1:
 * the board has gone, and nothing will be heard any more.
 */
int notice_listen(const struct notice_board *board, uint64_t key);
void notice_ring(int fd);
int notice_rang(int fd);

#endif
