/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of jobs' processes about their last collectives. Any program of that user may have
 * written them, here or in a file, so nothing is trusted beyond its bounds.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_CLI_ROLL_CALL_H
#define COLLSHIM_SHIM_CLI_ROLL_CALL_H

#include <stdio.h>
#include <sys/types.h>

#include "shim/record/roll/roll_layout.h"

struct stuck_call {
    uint64_t number, bytes;
    int root, what, form; /* enum roll_what, roll_form */
    const char *where;    /* "a.c:44"; "": not known. Kept until the command ends */
};

struct stuck_line {
    uint64_t id, number; /* of its last call; 0: none so far */
    double age;          /* seconds in this state */
    int inside;          /* the thread is in that call */
    int size, rank, is_world, is_request, nccl;
    int calls;
    struct stuck_call call[ROLL_CALLS]; /* the last ones, in their order */
};

struct stuck_process {
    char host[64], job[64], scheduler[16]; /* scheduler "": none */
    int pid, rank, size;                   /* -1, 0: not known */
    int here;                              /* ranks on its host, by its launcher; 0: not known */
    int ended;                             /* it has called MPI_Finalize */
    int full;                              /* some of its communicators have no line */
    int state;                             /* as in /proc/PID/stat: 'R', 'S', 'T' ... */
    double cpu;                            /* of one processor, lately, with its children */
    int lines;
    struct stuck_line *line; /* [lines] owned */
};

struct stuck_roll {
    struct stuck_process *process; /* [n] owned; by job, then rank */
    int n;
    int without; /* of them here: with the preload, but no roll */
};

/* Those of this node: of a job, a process's job, a launcher; NULL: all. alarm: tell them that a
   command looks, because of theirs, and is to look again after so many seconds; 0: none. Returns 0,
   or -1 with errno. End with stuck_free, also then. */
int stuck_read(struct stuck_roll *r, const char *wanted, double alarm);

/* Tell them when it is to look again, or that it has spoken. */
void stuck_again(const struct stuck_roll *r, double seconds);
void stuck_told(const struct stuck_roll *r);

/* One object on a line. */
void stuck_put(FILE *f, const struct stuck_process *p);

/* Lines of a file. Those that are such objects count, with any text in front of them. Returns how
   many. */
int stuck_get(struct stuck_roll *r, FILE *f);

void stuck_sort(struct stuck_roll *r);
void stuck_free(struct stuck_roll *r);

#endif
