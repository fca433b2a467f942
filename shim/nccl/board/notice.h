/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notice board: how the ranks of a communicator agree on something without NCCL, a stream or a
 * GPU. The process that made the communicator's unique id keeps the board, a thread and a socket.
 * Its address is in the id, for NCCL's own start-up; its port stands in bytes of the id that NCCL
 * leaves unused. A rank posts a note under a key; when all ranks have, each gets all notes. If some
 * have not by NOTICE_PATIENCE_S after the first, all get none, and so do later ranks. The keeper
 * alone decides, once, and a rank that has posted waits for its answer. So all get the same answer,
 * also from a keeper that is stopped for some time.
 *
 * Rejected: a collective, because a rank without this library would not take part, and the others
 * would hang. Also, a stream may be blocked until the host returns from the call that would wait
 * for it. Rejected: a broadcast through MPI or a launcher, because a program with NCCL may have
 * neither.
 */
#ifndef COLLSHIM_SHIM_NCCL_NOTICE_H
#define COLLSHIM_SHIM_NCCL_NOTICE_H

#include <nccl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NOTICE_BYTES = 80, NOTICE_MOST = 4096, NOTICE_PATIENCE_S = 5 };

/* The address of a board. */
struct notice_board {
    struct sockaddr_storage address;
    socklen_t length;
    uint64_t token; /* random, in the id: a client without it is ignored */
};

/* The board that an id names. Returns 0, or -ENOENT if there is none. */
int notice_find(const ncclUniqueId *id, struct notice_board *board);

/*
 * Post this rank's note, `bytes` long on all ranks and at most NOTICE_MOST, under a key that is new
 * and the same on all ranks. Returns a descriptor for notice_read(), which closes it, or -1: no
 * rank will get the notes. Does not wait for others.
 */
int notice_post(const struct notice_board *board, uint64_t key, int nranks, int rank,
                const void *note, size_t bytes);

/*
 * Wait for the notes of all ranks, about NOTICE_PATIENCE_S at most if the keeper is at work. If it
 * is stopped, wait until it goes on; if it has gone, no longer. *stop (may be NULL) ends the wait
 * when it is set. note: [nranks * bytes]. Returns 0, or -1: no rank got them.
 */
int notice_read(int fd, int nranks, void *note, size_t bytes, const int *stop);

/*
 * An alarm for events at any time. Listen under a key, ring, and ask without waiting whether a rank
 * rang. notice_listen() returns a descriptor, to be closed, once the board knows of it, or -1. A
 * rank that ends without ringing sends nothing. notice_rang() returns 1 or 0, or -1: the board has
 * gone, and no alarm will come.
 */
int notice_listen(const struct notice_board *board, uint64_t key);
void notice_ring(int fd);
int notice_rang(int fd);

#endif
