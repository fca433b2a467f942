/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libnccl.so.2 on the simulated driver, for tests only: README.md says what it models.
 *
 * The ranks of a communicator, threads and processes of this machine alike, share one file, the
 * board. A group's operations become one piece of work on a stream; there the ranks meet on the
 * board, compare what each was asked to do, and move bytes.
 */
#ifndef COLLSHIM_TEST_NCCLSIM_H
#define COLLSHIM_TEST_NCCLSIM_H

#include <nccl.h>
#include <stddef.h>
#include <stdint.h>

#include "test/gpusim/foreign.h"
#include "transports/cuda/cuda_driver.h"

#define SIM_RANKS 72
#define SIM_SLOT_BYTES ((uint64_t)48 << 20) /* the largest input of a collective */
#define SIM_PIPE_BYTES ((uint64_t)64 << 10)
#define SIM_OTHERS 16 /* communicators whose order is compared */
#define SIM_TEXT 256

/* The board --------------------------------------------------------------------------------- */

/* From one rank to another; one writer, one reader. */
struct pipe {
    uint64_t written, read; /* bytes so far */
    char bytes[SIM_PIPE_BYTES];
};

enum kind { /* of an operation; a name each in run.c */
            KIND_ALLREDUCE,
            KIND_ALLGATHER,
            KIND_REDUCESCATTER,
            KIND_BROADCAST,
            KIND_REDUCE,
            KIND_ALLTOALL,
            KIND_GATHER,
            KIND_SCATTER,
            KIND_SEND,
            KIND_RECV
};

/* How many collectives a rank had issued on another communicator. */
struct other {
    uint64_t board, issued;
};

/* The requests to a rank. */
struct post {
    int kind, type, op, root;
    uint64_t count, ns; /* ns: modelled time at which the rank came */
    uint64_t scale;     /* of PreMulSum: an element */
    int nothers;
    struct other others[SIM_OTHERS];
};

struct gate { /* all ranks of a board come, then all go on */
    uint32_t here, round;
};

struct member {
    int pid, device;
    uint64_t host;
};

struct offer { /* a rank's part in a split */
    int color, key, pid, fd;
};

struct board {
    uint64_t number; /* random: of this communicator */
    uint32_t nranks, joined;
    int failed; /* an ncclResult_t for all ranks; 0: none */
    char why[SIM_TEXT];
    unsigned char hello[SIM_RANKS][SIM_RANKS]; /* connect.c: a rank's host, to another */
    struct gate host, work;
    uint64_t moved;            /* grows with what messages move */
    uint64_t stuck[SIM_RANKS]; /* moved + 1 when the rank found nothing to move; 0: it did */
    struct member member[SIM_RANKS];
    struct offer offer[SIM_RANKS];
    struct post post[SIM_RANKS];
    struct pipe pipe[SIM_RANKS][SIM_RANKS]; /* [from][to] */
    _Alignas(4096) char slot[SIM_RANKS][SIM_SLOT_BYTES];
};

/* A board in a file of its own, for others to open through /proc. Returns the descriptor or -1. */
int board_make(void);
struct board *board_open(int pid, int fd); /* NULL if that fails */
void board_close(struct board *b);

/* Fail the communicator for all its ranks, the first reason stays. */
__attribute__((format(printf, 3, 4))) void board_fail(struct board *b, int result,
                                                      const char *format, ...);

struct ncclComm;
/* Wait until all ranks are here. Returns 0, or -1 once the board failed or comm was aborted. */
int board_meet(struct ncclComm *comm, struct gate *g);
/* Let others run for a moment. Returns as board_meet. */
int board_pause(const struct ncclComm *comm, unsigned *turns);

/* Communicators (comm.c) ----------------------------------------------------------------------- */
struct redop { /* made by ncclRedOpCreatePreMulSum */
    int used, type;
    const void *device_scalar; /* read when the operation runs; NULL: scale is it */
    uint64_t scale;            /* an element in its first bytes */
};

enum { SIM_OPS = 16, SIM_RANGES = 64 };

struct range { /* of registered memory */
    const char *at;
    size_t bytes; /* 0: none */
};

struct ncclComm {
    uint64_t magic;
    struct ncclComm *next; /* of this process */
    struct board *board;
    int rank, nranks, device, blocking, fd;
    int initialising; /* a non-blocking communicator's ranks have not all come */
    int aborted, finalized;
    unsigned split_in;     /* the number of the last group that splits or shrinks it */
    ncclResult_t started;  /* the result of initialising */
    uint64_t issued, done; /* pieces of work */
    uint64_t collectives;  /* issued: the same on all ranks, other than pieces of work */
    CUcontext context;
    unsigned char connected[SIM_RANKS]; /* connect.c: to which ranks, and how */
    int64_t connections_bytes;
    struct redop ops[SIM_OPS];
    struct range ranges[SIM_RANGES];
    char last[SIM_TEXT];
};

const struct cuda_calls *sim_cuda(void); /* NULL: no simulated driver */
extern __typeof__(gpusim_submit) *sim_submit;
extern __typeof__(gpusim_capture) *sim_capture;
extern __typeof__(gpusim_use) *sim_use;
extern __typeof__(gpusim_done) *sim_done;
extern __typeof__(gpusim_reserve) *sim_reserve;

/* Is that a communicator which may be used? Else says so on stderr, and in its last error. */
ncclResult_t comm_check(ncclComm_t comm, const char *caller);
/* The number of ranks may be any; sets the comm's last error. Returns result. */
__attribute__((format(printf, 3, 4))) ncclResult_t comm_error(ncclComm_t comm, ncclResult_t result,
                                                              const char *format, ...);
/* How far the process is on the other communicators it has. */
int comm_others(const struct ncclComm *comm, struct other *others);
/* The scale of a created operation, or 0 if op is none. */
const struct redop *comm_redop(const struct ncclComm *comm, int op);

/* Does a message from or to there take the way of registered buffers? captured: of a graph. */
int comm_is_registered(const struct ncclComm *comm, const void *at, size_t bytes, int captured);

/* Groups (group.c) --------------------------------------------------------------------------- */
struct call {
    struct call *next;
    struct ncclComm *comm;
    struct post post;
    const void *send;
    void *recv;
    int peer; /* of KIND_SEND and KIND_RECV */
    void *stream;
    struct redop redop; /* a created operation as it was at the call: it may end before the group */
};

/* A call is refused: so is the group, if there is one. Returns result. */
ncclResult_t group_refuse(ncclResult_t result);
/* Is the thread between ncclGroupStart and ncclGroupEnd? */
int group_open(void);
/* The number of the thread's group, counted from 1; 0 outside of one. */
unsigned group_number(void);
/* Run work at the end of the group, on a thread of its own; at once if there is no group. */
ncclResult_t group_defer(ncclResult_t (*run)(void *data), void *data);
/* Launch a call, at the end of the group if there is one. */
ncclResult_t group_add(const struct call *call);

/* Connect to the peers of a communicator's part of a group (connect.c): waits for their hosts. */
ncclResult_t comm_connect(struct ncclComm *comm, const struct call *calls);
void comm_disconnect(struct ncclComm *comm);

/* The version of ncclGetVersion (links.c): NCCLSIM="version=22703", or the headers'. */
int sim_version(void);

/* Running (run.c) ------------------------------------------------------------------------------ */
size_t type_bytes(int type);
int type_exists(int type);
/* Submit the calls of one communicator, which are the work's from then on. */
ncclResult_t run_launch(struct ncclComm *comm, struct call *calls);

/* Combining (combine.cpp): dst = all n sources, count elements each; scale: one per source, of
 * PreMulSum, an element each, else NULL. */
void combine(int type, int op, const void *const *src, int n, uint64_t count, const uint64_t *scale,
             void *dst);

#define NCCL_API(ret, name, args)                                                                  \
    __attribute__((visibility("default"))) ret pnccl##name args;                                   \
    __attribute__((visibility("default"), weak, alias("pnccl" #name))) ret nccl##name args;        \
    ret pnccl##name args

#endif
