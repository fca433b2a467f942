/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's measurements, kept for later jobs: COLLSHIM_STORE names the file. It is text, a row
 * for each reroute that was measured beside the library:
 *
 *     # collshim store 1
 *     OpenMPIv4.1.4/1.0/4x4/9f2c11aa allreduce 0 1M lane ppg=1 ratio=0.530 spread=0.040 jobs=3
 * day=20779
 *
 * The first word is the place: the library with its version, collshim's version, nodes x ranks and
 * a hash of the placement (store_where). Then come the collective, the guard's kind, the lower end
 * of the size class, and the algorithm with its recipe. The numbers are the time through the
 * library's, the standard deviation of its logarithm, the number of jobs, and the day of the last
 * one since 1970.
 *
 * A folder holds such a file for each user (store_folder.h).
 *
 * A row that cannot be read is left out; a file that does not begin as above is not touched.
 *
 * The same rows, without a file, go from a communicator to later ones of its place in this process
 * (store_found).
 *
 * Thread rule: store_open and store_merge are single-threaded; the rest may be called by any
 * thread.
 */
#ifndef COLLSHIM_SHIM_DECIDE_STORE_H
#define COLLSHIM_SHIM_DECIDE_STORE_H

#include "config/topo/topo.h"
#include "shim/decide/guard/guard_entry.h"
#include "shim/decide/store/store_rows.h"

enum { STORE_GIVEN = 64 * 1024 /* bytes of the rows that concern one job */ };

/* Does the guard measure, and may it go by what it measured before? And is a file named too? */
int store_is_kept(void);
int store_is_wanted(void);

/* The place of a communicator's verdicts. library: its version as the library tells it. */
void store_where(const char *library, const struct topo *topo, char where[STORE_WHERE]);

/* The rows of the file for this library, of any shape: text of at most STORE_GIVEN bytes, which the
   caller frees, or NULL: none. A file that cannot be used costs a line. */
char *store_read(const char *path, const char *library);

/* Make the rows of such a text the known ones. Returns 0 or -ENOMEM. -EINVAL: a row is of another
   library than this process has. On error nothing is known. */
int store_open(const char *text, const char *library);

/* The findings on an entry's contenders, against the library; spread 0: unknown. own: those of this
   job (store_found). in_file: those of the file come behind. Returns whether there are any. */
int store_recall(const char *where, enum plan_collective c, unsigned kind,
                 const struct guard_entry *e, const struct store_rows *own, int in_file,
                 struct estimate known[GUARD_CONTENDERS]);

/* Note what an entry has found (e->found), in place of what was noted before. in_file: also for the
   file, which one rank of a communicator does. */
void store_learn(const char *where, enum plan_collective c, unsigned kind,
                 const struct guard_entry *e, int in_file);

/*
 * The rows that this process has found at a place, NULL: at any. A copy, to be freed with
 * store_rows_free. Returns a hash of it, which is the same for the same rows in any order; 0:
 * nothing. Processes have been in different communicators, so all ranks must agree on the hash
 * before one goes by the rows.
 */
uint64_t store_found(const char *where, struct store_rows *rows);

/* The place has changed: what was found there is void. The file keeps it. */
void store_forget(const char *where);

/* Put the notes into the file: other jobs' rows stay, and a row that both have is combined. Waits
   for other jobs while they write, ten seconds at most. An error costs a line, and so do rows that
   this job contradicts. */
void store_merge(const char *path);

void store_close(void);

#endif
