/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roll in the memory that a process shares (live_layout.h): a line for each communicator, and
 * one for each persistent request. The program's thread writes calls. The watcher writes times. The
 * command reads, and writes `looked`, `next` and `told`.
 */
#ifndef COLLSHIM_SHIM_RECORD_ROLL_LAYOUT_H
#define COLLSHIM_SHIM_RECORD_ROLL_LAYOUT_H

#include <stdint.h>

/* WHAT(name): the collectives of collectives.def, by its names, then others. */
/* clang-format off */
#define ROLL_OTHERS(WHAT)                                                                          \
    WHAT(Barrier) WHAT(Finalize) WHAT(Comm_create) WHAT(Comm_dup) WHAT(Comm_dup_with_info)         \
    WHAT(Comm_split) WHAT(Comm_split_type) WHAT(Cart_create) WHAT(Cart_sub) WHAT(Graph_create)     \
    WHAT(Dist_graph_create) WHAT(Dist_graph_create_adjacent)
/* clang-format on */
enum roll_what {
#define FORMS(Name, name, parameters, arguments) ROLL_##Name,
#include "shim/preload/collectives.def"
#define WHAT(name) ROLL_##name,
    ROLL_OTHERS(WHAT)
#undef WHAT
        ROLL_WHATS
};
extern const char *const roll_names[ROLL_WHATS];

/* STARTED: the program's thread does not wait in it. MADE: an _init. */
enum roll_form { ROLL_BLOCKING, ROLL_STARTED, ROLL_MADE, ROLL_FORMS };

enum {
    ROLL_LINES = 512,
    ROLL_CALLS = 16, /* the last calls of a line, a power of two */
    ROLL_SITES = 512,
    ROLL_OBJECTS = 32,
    ROLL_PATH = 256,
    ROLL_NO_ROOT = -1
};
#define ROLL_NO_BYTES UINT64_MAX /* ranks may differ, or they are not known */

struct roll_call {
    uint64_t number; /* from 1 on: the same call has the same number on all ranks */
    uint64_t bytes;  /* of a block or the vector */
    int32_t root;
    uint16_t site; /* 0: not known */
    uint8_t what, form;
};

struct roll_line {
    uint64_t state;       /* 2 * calls so far, + 1: the thread is in the last one */
    uint64_t id;          /* the same on all ranks of a communicator; 0: the line is free */
    uint64_t seen, since; /* the watcher's: that state, and when it came, ns monotonic */
    int32_t size, rank;   /* of the communicator */
    uint8_t is_world, is_request, pad[14];
    struct roll_call call[ROLL_CALLS]; /* by number % ROLL_CALLS */
} __attribute__((aligned(64)));

struct roll {
    uint64_t beat;         /* when the watcher looked last, ns monotonic; 0: not yet */
    uint64_t looked, next; /* when a command looked because of the alarm, and is to look again */
    uint64_t told;         /* when it spoke */
    uint32_t sites, objects;
    uint64_t full; /* a handle found no room: it and later ones may have no line */
    struct roll_line line[ROLL_LINES];
    struct roll_site {
        uint64_t offset; /* of the return address in its object */
        uint32_t object, pad;
    } site[ROLL_SITES]; /* 0: not known */
    struct roll_object {
        char path[ROLL_PATH], build_id[64]; /* both end with 0; id: hexadecimal, "": none */
    } object[ROLL_OBJECTS];
};

#endif
