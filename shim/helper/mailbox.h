/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that a process and one of its helpers share: orders, answers, their data, and the
 * helper's part of the payload. It is a file without a name (memfd) of a fixed, sealed size, mode
 * 0600, that both map piece by piece. Untouched pages cost nothing. There is a channel per
 * communicator, with one order at a time: MPI permits one collective at a time on a communicator.
 * But threads may be in those of several communicators at once, in an order that differs from rank
 * to rank. So a helper must work on all of them at once. The owner writes the order and then
 * `posted`, the helper the answer and then `finished`; equal counters mean that nothing is under
 * way.
 *
 * A robust mutex, which the helper holds while it lives, tells whether it lives. The kernel marks
 * the mutex when the helper dies. A look costs no system call and no descriptor in the
 * application's process. It needs no process number, which may belong to another process by now.
 */
#ifndef COLLSHIM_SHIM_HELPER_MAILBOX_H
#define COLLSHIM_SHIM_HELPER_MAILBOX_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/base/float_mode.h"
#include "transports/cuda/cuda_memory.h"

enum { MAILBOX_CHANNELS = 8, MAILBOX_ADDRESS_MAX = 8192 };

/* Pieces of one length, evenly spaced in the owner's memory and back to back in the window. */
struct mailbox_pieces {
    uint64_t address; /* of the first, in the owner's process */
    uint64_t stride;  /* from one to the next there */
    uint64_t length;
    uint64_t window_at; /* of the first, in the window */
    uint64_t n;
};

enum mailbox_kind {
    MAILBOX_OPEN,   /* a communicator: the members' addresses are in the payload */
    MAILBOX_DEVICE, /* leave the memory on a device that was lent before, and open this */
    MAILBOX_RUN,    /* fetch, then run the plan in the payload */
    MAILBOX_STORE,  /* hand the result of the last run over */
    MAILBOX_CLOSE,  /* forget the communicator, and give its memory back */
};

struct mailbox_order {
    uint32_t kind; /* enum mailbox_kind */
    /* MAILBOX_OPEN */
    uint32_t team;
    int32_t rank, nranks;
    uint64_t address_bytes; /* of each; they lie at the start of the payload */
    /* MAILBOX_DEVICE; kernel_type and kernel_op: what it must be able to combine */
    struct device_window lent;
    char bus_id[CUDA_BUS_ID];
    /* MAILBOX_RUN */
    uint32_t on_device;  /* window and scratch are what was lent; nothing is fetched or stored */
    uint64_t scratch_at; /* there */
    uint64_t plan_at, plan_bytes; /* in the payload */
    uint64_t window_bytes;
    uint64_t input_at, output_at; /* in the window */
    int32_t kernel_type, kernel_op;
    uint64_t grain;
    struct float_mode mode; /* in which the owner would combine */
    /* Data left to the owner, because the helper cannot reach its memory, has n = 0. */
    struct mailbox_pieces fetch, store;
};

struct mailbox_channel {
    _Alignas(64) _Atomic uint32_t posted;   /* by the owner */
    _Alignas(64) _Atomic uint32_t finished; /* by the helper */
    int32_t status;                         /* of what was finished: 0 or a negative code */
    struct mailbox_order order;
};

/* The purpose of the helper (work.h). */
enum mailbox_work { MAILBOX_FOR_MPI, MAILBOX_FOR_NCCL };

struct mailbox {
    char version[32]; /* both must be of one build */
    uint32_t work;    /* enum mailbox_work */
    int32_t owner_pid;
    uint64_t address_of_probe; /* in the owner: of `probe` */
    uint64_t probe;            /* the bytes that the helper reads and writes there, as a test */
    cpu_set_t cpus;            /* the owner's, as it was started */
    int32_t processes;         /* that share them: the owner, and all its helpers */
    uint64_t kept_bytes;       /* host_memory_keep of the helper */
    pthread_mutex_t alive;     /* robust; held by the helper */
    int32_t helper_pid;        /* as the helper has it */
    _Atomic uint32_t bell;     /* counts the owner's orders: what the helper sleeps on */
    _Atomic uint32_t quit;
    _Alignas(64) _Atomic uint32_t beats; /* rounds of the helper's work (silence.h) */
    /* Written by the helper before it says that it is ready. */
    char why[160]; /* the reason why it cannot work, or "" */
    int32_t
        unreachable; /* 0: it reads and writes the owner's memory; else the errno that says no */
    uint32_t address_bytes;
    unsigned char address[MAILBOX_ADDRESS_MAX];
    struct mailbox_channel channel[MAILBOX_CHANNELS];
};

/* Descriptors of a helper at its start. */
enum {
    HELPER_FD_MAILBOX = 3,
    HELPER_FD_READY,
    HELPER_FD_OWNER, /* of the process, which outlives a program in it */
    HELPER_FD_LEASH, /* of the program */
    HELPER_FD_END
};

/* The value that an owner puts into `probe`, and the helper's answer there if it can. */
#define MAILBOX_PROBE_READ 0x636f6c6c7368696dull
#define MAILBOX_PROBE_WRITTEN (~MAILBOX_PROBE_READ)

/* A part of the file that is mapped; all zero: nothing yet. */
struct mailbox_map {
    char *at;
    size_t bytes;
};

/* Make and map a mailbox, to which nothing but this process has a descriptor. Returns the
   descriptor (close-on-exec) or -errno. */
int mailbox_create(struct mailbox **box_p);

/* Map the mailbox behind that descriptor. Returns 0 or -errno; -EPROTO if it is another build's. */
int mailbox_join(int fd, struct mailbox **box_p);
void mailbox_unmap(struct mailbox *box);

/*
 * Map so many bytes of a channel's payload or window, or keep what is mapped if that is enough.
 * Returns 0, -E2BIG (more than there can be) or -errno; then what was mapped stays.
 */
int mailbox_map_payload(int fd, int channel, size_t bytes, struct mailbox_map *map);
int mailbox_map_window(int fd, int channel, size_t bytes, struct mailbox_map *map);
void mailbox_unmap_part(struct mailbox_map *map);

/* Give a channel's memory back to the system. */
void mailbox_clear(int fd, int channel);

/*
 * A leash is a page that this process alone has mapped, and no child of it. So it is loose once the
 * process has ended, or runs another program. Making one returns its descriptor (close-on-exec; the
 * page stays when it is closed) or -errno.
 */
int leash_make(void);
int leash_is_loose(int fd);

/* Sleep until *word is no longer `value` (or for no reason, or for two seconds), and wake who does.
 */
void mailbox_wait(_Atomic uint32_t *word, uint32_t value);
void mailbox_wake(_Atomic uint32_t *word);

/* Wake the helper: there is something to be seen. */
void mailbox_ring(struct mailbox *box);

#endif
