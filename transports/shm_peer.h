/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes on between two ranks that share memory, seen from one of them. The other files of the
 * transport: shm_segment.h (the memory), shm.h (the struct xport).
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_PEER_H
#define COLLSHIM_TRANSPORTS_SHM_PEER_H

#include <sys/types.h>

#include "transports/shm_segment.h"
#include "transports/xport.h"

/* A send or a receive that the engine has posted. */
struct slot {
    struct slot *next;
    char *buf;                  /* NULL for a receive that combines */
    struct xport_reduce reduce; /* such a receive's */
    size_t length;
    uint64_t left;    /* bytes still to be received */
    uint64_t address; /* a receive's bytes at the sender */
    uint32_t sender;  /* and the sender's slot */
    uint32_t lane;
};

struct fifo {
    struct slot *first, **end;
};

/* Bytes of a message that go in pieces base, base + 1, ... */
struct extent {
    struct slot
        *slot; /* a receive; of a send, only buf is kept, since the slot may be done first */
    char *buf;
    uint64_t from, length;
    uint32_t step, base, pieces;
    uint32_t unread; /* as in the answer */
    uint32_t left;   /* pieces still to be received */
};

struct extents {
    struct extent *at; /* [room] owned: oldest first */
    unsigned n, room;
    uint32_t pieces; /* numbered so far */
};

struct peer {
    const struct shm_segment *segment; /* borrowed */
    struct shm_pair *out, *in;
    int me, member;
    pid_t pid;
    int unread;             /* errno if its memory cannot be read */
    unsigned busy;          /* slots that wait for it */
    struct fifo unposted;   /* sends for which the ring had no room */
    struct extents filling; /* sends that are wanted */
    struct fifo unmatched;  /* receives without a sender */
    struct fifo matched;    /* with one that has not been told yet */
    struct extents wanted;  /* that has */
    struct fifo received;   /* the sender has not been told yet */
    struct extent lost; /* claimed and then not readable; to be asked for again; length 0: none */
    unsigned impatient; /* so many reads more before it is waited for again */
    struct shm_post *early; /* [early_room] owned: posts without a receive, oldest first */
    unsigned nearly, early_room;
};

/* Where a poll writes what is complete. */
struct shm_report {
    struct slot *slots; /* [nslots] borrowed: the transport's */
    unsigned nslots;
    unsigned *done, ndone; /* completed slots by number */
    unsigned receiving;    /* receives under way, of all peers */
};

void fifo_put(struct fifo *f, struct slot *s);

/* Hand posts to the peer while there is room. */
void shm_peer_post(struct peer *p, const struct shm_report *r);

/* A receive has been posted. Returns 0, or -EPROTO if its sender's length differs. */
int shm_peer_receive(struct peer *p, struct slot *s);

/* Everything but reading: hear, match, tell, and move up to *budget bytes through cells; what was
   moved is taken off. Returns 0, -ENOMEM or -EPROTO. */
int shm_peer_serve(struct peer *p, struct shm_report *r, size_t *budget);

/*
 * If there are pieces that nobody has claimed: wait a moment for the peer to fill a cell, and if it
 * does not, read some from its memory. bounce: SHM_BOUNCE bytes. Returns the bytes moved, or -ESRCH
 * if the peer is no more. What is combined is read in pieces that stay in the cache; else the more
 * at once the better: calls of 32 KiB reach half the rate of calls of 512 KiB.
 */
enum { SHM_BOUNCE = 128 << 10, SHM_READ = 512 << 10 };
ssize_t shm_peer_read(struct peer *p, struct shm_report *r, char *bounce);

/* Read from the memory of another process; the bytes read, or -errno. */
ssize_t shm_read_memory(pid_t pid, uint64_t address, void *to, size_t n);

void shm_peer_free(struct peer *p);

#endif
