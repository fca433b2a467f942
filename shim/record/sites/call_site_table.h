/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of call sites: their objects, the sites, and a row for each site, communicator shape,
 * collective and size class. All sizes are fixed; a site or row too many counts as site 0,
 * "others", or as row 0.
 *
 * Thread rule: any thread finds and adds; reading all of it is for one thread when calls are over.
 */
#ifndef COLLSHIM_SHIM_RECORD_CALL_SITE_TABLE_H
#define COLLSHIM_SHIM_RECORD_CALL_SITE_TABLE_H

#include <stdint.h>
#include <stdlib.h>

#include "planners/plan/collective.h"
#include "shim/record/sites/histogram.h"

enum {
    SITE_BARRIER = COLL_COUNT, /* as a row's collective: no schedule serves MPI_Barrier */
    SITE_OBJECTS = 256,
    SITES = 4096,
    SITE_ROWS = 4096,
    SITE_FRAMES = 8, /* of a site's stack: the site itself, then its callers */
    SITE_ID_BYTES = 20,
    SITE_LATE = 8,  /* ranks that were late in a row's calls: those that cost most */
    SITE_OTHERS = 0 /* the site, and the row, of what does not fit */
};

struct site_object {
    char *path;                          /* owned */
    uint8_t id[SITE_ID_BYTES], id_bytes; /* build id; 0 bytes: none */
    uint8_t is_mpi;                      /* the library, its bindings, a tool, or collshim */
    uintptr_t from, to, base;            /* of this process; 0: known from another rank only */
};

/* An address as the object's own file has it. */
struct site_frame {
    uint64_t offset; /* of the return address */
    uint16_t object;
};

struct site {
    struct site_frame frame[SITE_FRAMES];
    uint8_t frames; /* 0: others */
};

/* The value of most calls: a vote that needs no counter for each value. */
struct site_vote {
    uint32_t lead;
    uint8_t what;
};

enum { SITE_NATIVE, SITE_REROUTED, SITE_WAYS };

struct site_key {
    uint16_t site;
    uint8_t collective, size_class;
    uint32_t ranks, nodes; /* of the communicator; nodes 0: not known */
};

/* A rank for which others waited. */
struct site_late {
    int32_t rank;
    uint32_t times;
    uint64_t ns;           /* that all of them waited */
    uint64_t work, others; /* before these calls: its own time, and the mean of the others' */
};

/* A rank to which the last message between hosts came. */
struct site_last {
    int32_t rank;
    uint32_t times; /* 0: free */
};

/* The calls of a row that were sampled (shim/record/waits/); nanoseconds of all ranks. */
struct site_waits {
    uint64_t calls, waiting, moving;
    uint64_t combining;               /* of moving, as far as known */
    struct site_last last[SITE_LATE]; /* those with the most times */
    struct site_late late[SITE_LATE]; /* times and ns 0: free */
};

struct site_row {
    struct site_key key;
    struct site_vote algorithm, reason;
    uint64_t bytes, calls[SITE_WAYS], nanoseconds[SITE_WAYS];
    struct site_waits waits;
    uint32_t bins[SITE_WAYS][HISTOGRAM_BINS]; /* of the timed calls */
};

struct site_table {
    uint32_t objects, sites, rows;
    struct site_object object[SITE_OBJECTS];
    struct site site[SITES];
    struct site_row row[SITE_ROWS];
    uint16_t site_index[2 * SITES], row_index[2 * SITE_ROWS]; /* 0: free */
};

/* This process's table; NULL: no sites are kept. Owned; for the process's life. */
extern struct site_table *site_table;

/* Returns 0, or -1: no memory. Again: nothing. */
int site_table_open(void);

/* The object of that build id, or path where one of the two has none, or made new (path is copied,
   no range). Returns -1: full. Under the lock. */
int site_table_object(const char *path, const uint8_t *id, int id_bytes);

/* The site whose innermost frame is there, or made new. SITE_OTHERS: full. Under the lock. */
unsigned site_table_site(const struct site_frame *frame, int frames);

/* "allreduce", "barrier"; "others" of row SITE_OTHERS. */
const char *site_collective_name(unsigned collective);

/* The row, or made new; row SITE_OTHERS if full. Takes the lock where it is new. */
struct site_row *site_table_row(const struct site_key *key);

void site_vote(struct site_vote *v, uint8_t what, uint32_t weight);

/* Add to the rank's place; a new one may take that of the rank that cost least. */
void site_add_late(struct site_waits *w, const struct site_late *l);
void site_add_last(struct site_waits *w, const struct site_last *l);

void site_table_lock(void);
void site_table_unlock(void);

#endif
