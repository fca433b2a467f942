/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic of two ranks that share memory, seen from one of them. The transport's other files:
 * shm_segment.h (the memory), shm.h (the struct xport).
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_PEER_H
#define COLLSHIM_TRANSPORTS_SHM_PEER_H

#include <sys/types.h>

#include "transports/base/xport.h"
#include "transports/shm/shm_board.h"
#include "transports/shm/shm_segment.h"

enum { REDUCE_PIECE = 128 << 10 };

/* Does the sender of a receive copy, too? RETURNED: this rank copies the pieces that it gave back.
 */
enum sharing { SHARING_NOT, SHARING, SHARING_RETURNED };

/* A send or a receive that the engine has posted. */
struct shm_slot {
    struct shm_slot *next;
    char *buf; /* NULL for a receive that combines */
    size_t length, done;
    size_t until; /* of a receive that is read: this rank's to read */
    uint32_t tag;
    uint32_t step; /* bytes per cell */
    int granted;   /* a receive that comes through the cells */
    enum sharing sharing;
    struct peer *peer; /* of a send, or a receive that takes what is lent */
    int anywhere;      /* a receive that takes what is lent */
    unsigned failed;   /* a receive: XPORT_FAILED or XPORT_UNEQUAL; else 0 */
    int twins;         /* a send: others are sent the same bytes */
    unsigned held;     /* a send: how often it waited for a place on the board */
    uint32_t notice;   /* a receive's, counted from 1; 0: it comes otherwise */
    const char *lent;  /* a receive's bytes on the sender's device */
    uint64_t address;  /* or at the sender */
    uint32_t sender;   /* and the sender's slot */
    struct xport_reduce reduce;
};

struct fifo {
    struct shm_slot *first, **end;
};

/* A post that came before its receive; and as many as were allocated at once. */
struct early {
    struct early *next;
    struct shm_post post;
};
struct early_block {
    struct early_block *next;
    struct early early[];
};

struct peer {
    struct shm_pair *out, *in;
    pid_t pid;
    int member;
    int unread;               /* errno if its memory cannot be read */
    int unwritten;            /* its memory cannot be written */
    int unhelpful;            /* it could not write to this rank's */
    unsigned waits;           /* turns that this rank has waited for its pieces */
    unsigned sends, receives; /* slots that wait for it */
    struct fifo unposted;     /* sends that the peer has not been told of */
    struct fifo streaming;    /* sends that go through the cells */
    struct fifo unmatched;    /* receives */
    struct fifo matched;      /* receives whose sender is known */
    struct fifo arrived;      /* receives of what is lent, to be reported */
    struct fifo returned;     /* and those that the engine is done with */
    struct device *acceptor;  /* borrowed: whose reach the peer's window is in; NULL: none */
    char *window;             /* the peer's, there */
    struct early *early;      /* borrowed from the transport: without a receive, oldest first */
};

/* Room for posts that come early. */
struct early_stock {
    struct early_block *blocks; /* owned */
    struct early *spare;        /* of these, those of no peer */
    unsigned n;                 /* in all blocks */
};

/* With what receives combine. */
struct shm_combining {
    char *bounce;            /* [REDUCE_PIECE * room] owned */
    int room;                /* for how many workers that is */
    struct workers *workers; /* borrowed; NULL: the caller works alone */
};

/* A send since the last poll, by the address of its bytes. */
enum { TWINS = 16 };

struct shm {
    uint64_t nonce;
    struct shm_segment segment;
    int fd; /* of the segment, until all have joined; or -1 */
    int members, me, copy_only;
    int helping;           /* each member has a CPU of its own */
    int error;             /* nothing works any more */
    int *member_of;        /* [nranks] owned: -1 for ranks elsewhere */
    struct peer *peer;     /* [members] owned */
    struct shm_slot *slot; /* [nslots] owned */
    struct board board;
    struct shm_slot *recent[TWINS];
    unsigned nslots;
    struct early_stock early;
    struct shm_combining combining;
    int next;         /* the peer that is served first */
    unsigned *report; /* during a poll: completed slots */
    unsigned reported;
    struct device *device; /* borrowed: of the call; NULL: it has none */
    char *lends;           /* the window of the device that was used first */
    struct device_window window;
};

void fifo_put(struct fifo *f, struct shm_slot *s);
struct shm_slot *fifo_take(struct fifo *f); /* not of an empty one */

/* Hand sends to the peer while there is room; those that are on the board then are done. */
void shm_peer_post(struct shm *t, struct peer *p);

/* Room for n more posts that come early. Returns 0 or -ENOMEM. */
int shm_peer_add_early(struct early_stock *stock, unsigned n);

/* A receive has been posted. */
void shm_peer_receive(struct shm *t, struct peer *p, struct shm_slot *s);

/* Move what can be moved, until *budget bytes are (a little more, perhaps); they are taken off.
   Returns 0, -ENOMEM, -EPROTO, or -ESRCH if the peer is no more. */
int shm_peer_serve(struct shm *t, struct peer *p, size_t *budget);

/* Part of serving: read matched messages that can be read, and answer complete ones. Returns the
   bytes read, or -ESRCH. */
ssize_t shm_peer_read_messages(struct shm *t, struct peer *p, size_t budget);

/* Offer the peer this rank's window. */
void shm_peer_offer(const struct shm *t, struct peer *p);

/* Leave the peer's window, and withdraw one's own. Returns 1 if the peer is not in it (any more).
 */
void shm_peer_leave(struct peer *p);
int shm_peer_withdraw(struct peer *p);

/* Write a piece of what the peer is reading, if it wants that. Returns the bytes. */
size_t shm_peer_help(const struct shm *t, struct peer *p);

/* Read from the memory of the peer's process. Returns the bytes read, or -errno. */
ssize_t shm_peer_read(const struct peer *p, uint64_t address, void *to, size_t n);

/* n more bytes of a receive are at `from`: put them where they belong. */
void shm_peer_deliver(struct shm_slot *s, const char *from, size_t n);

/* Tell a message's sender. Returns 0 if there is no room for an answer now. */
int shm_peer_answer(struct peer *p, const struct shm_answer *a);

/* A slot is done, and in no queue any more. waiting: the peer's sends or receives. */
void shm_peer_complete(struct shm *t, unsigned *waiting, struct shm_slot *s);

#endif
