/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes on between two ranks that share memory, seen from one of them. The transport's other
 * files: shm_segment.h (the memory), shm.h (the struct xport).
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_PEER_H
#define COLLSHIM_TRANSPORTS_SHM_PEER_H

#include <sys/types.h>

#include "transports/shm_segment.h"
#include "transports/xport.h"

enum { READ_PIECE = 4 << 20, REDUCE_PIECE = 128 << 10 };

/* A send or a receive that the engine has posted. */
struct slot {
    struct slot *next;
    char *buf; /* NULL for a receive that combines */
    size_t length, done;
    uint32_t lane;
    uint32_t step;    /* bytes per cell */
    int granted;      /* a receive that comes through the cells */
    int failed;       /* a receive for which nothing was sent */
    uint64_t address; /* a receive's bytes at the sender */
    uint32_t sender;  /* and the sender's slot */
    struct xport_reduce reduce;
};

struct fifo {
    struct slot *first, **end;
};

struct peer {
    struct shm_pair *out, *in;
    pid_t pid;
    int member;
    int unread;             /* errno if its memory cannot be read */
    unsigned busy;          /* slots that wait for it */
    struct fifo unposted;   /* sends for which the ring had no room */
    struct fifo streaming;  /* sends that go through the cells */
    struct fifo unmatched;  /* receives */
    struct fifo matched;    /* receives whose sender is known */
    struct shm_post *early; /* [early_room] owned: posts without a receive, oldest first */
    unsigned nearly, early_room;
};

struct shm {
    uint64_t nonce;
    struct shm_segment segment;
    int fd; /* of the segment, until all have joined; or -1 */
    int members, me, copy_only;
    int error;         /* nothing works any more */
    int *member_of;    /* [nranks] owned: -1 for ranks elsewhere */
    struct peer *peer; /* [members] owned */
    struct slot *slot; /* [nslots] owned */
    unsigned nslots;
    int next;         /* the peer that is served first */
    char *bounce;     /* [REDUCE_PIECE] owned */
    unsigned *report; /* during a poll: completed slots */
    unsigned reported;
};

void fifo_put(struct fifo *f, struct slot *s);

/* Hand sends to the peer while there is room. */
void shm_peer_post(struct shm *t, struct peer *p);

/* A receive has been posted. Returns 0, or -EPROTO if its sender's length differs. */
int shm_peer_receive(struct peer *p, struct slot *s);

/* Move what can be moved, until *budget bytes are (a little more, perhaps); they are taken off.
   Returns 0, -ENOMEM, -EPROTO, or -ESRCH if the peer is no more. */
int shm_peer_serve(struct shm *t, struct peer *p, size_t *budget);

/* Read from the memory of the peer's process. Returns the bytes read, or -errno. */
ssize_t shm_peer_read(const struct peer *p, uint64_t address, void *to, size_t n);

#endif
