/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that a process shares while it runs (live.h): struct live_header at 0, struct
 * live_counts at header.counts_at. Also part of the command, which has no counters of its own.
 */
#ifndef COLLSHIM_SHIM_RECORD_LIVE_LAYOUT_H
#define COLLSHIM_SHIM_RECORD_LIVE_LAYOUT_H

#include <stdint.h>

#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"

#define LIVE_NAME "collshim-counters" /* in /proc/PID/fd: "/memfd:collshim-counters (deleted)" */
#define LIVE_MAGIC "collshim counts"

enum {
    LIVE_LAYOUT = 3,
    LIVE_REGISTRY = 32, /* rows of the registry that are told apart, and the library in slices */
    LIVE_VARIANTS = 24, /* then variants, of a collective */
    LIVE_ROWS = LIVE_REGISTRY + LIVE_VARIANTS
};

/* The process's traffic with other hosts, in calls that a schedule of ours carried. Its rail:
   number 0: that of its place among its host's ranks; LIVE_RAIL_ALL: it spreads over all; else rail
   number - LIVE_RAIL_FIRST. */
enum { LIVE_RAIL_ALL = 1, LIVE_RAIL_FIRST = 2 };
enum live_way { LIVE_OUT, LIVE_IN, LIVE_WAYS };
struct live_rail {
    uint64_t number;
    uint64_t calls, nanoseconds; /* that crossed between hosts; what they took, 0: not timed */
    uint64_t bytes[LIVE_WAYS];
    uint64_t can[LIVE_WAYS];   /* bytes/s that the rail is taken to carry; 0: not known */
    uint64_t could[LIVE_WAYS]; /* the same before it changed for the last time; 0: it never did */
    uint64_t changed_at;       /* how many of those calls there were then */
};

/* Nothing but uint64_t. */
struct live_counts {
    uint64_t native[COLL_COUNT][REASON_COUNT]; /* calls */
    uint64_t rows[COLL_COUNT][LIVE_ROWS];      /* rerouted calls, by what carried them */
    uint64_t bytes[COLL_COUNT];                /* of rerouted calls, over all their ranks */
    struct live_rail rail;                     /* no sum over processes has a meaning */
};

/* The first four members stay where they are in every layout. */
struct live_header {
    char magic[16], version[32]; /* of collshim; both end with 0 */
    uint32_t layout, counts_at;
    uint64_t names; /* live_names() of the writer: rows and reasons of another build differ */
    uint64_t counts_bytes;
    int32_t pid;        /* as its own namespace has it */
    int32_t rank, size; /* of MPI_COMM_WORLD or the largest NCCL communicator; -1, 0: not known */
    int32_t ended;      /* the counters are no longer this process's own */
    char library[16];   /* "MPI" or "NCCL" */
    char host[64];      /* ends with 0 */
    uint32_t roll_at, roll_bytes; /* 0: no roll is kept */
};

/* The carrier of a rerouted call: a row of the registry, "library", a variant; "?": no such row. */
const char *live_row_name(int c, int row);

/* A hash of all names that indices of the counters stand for. */
uint64_t live_names(void);

#endif
