/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on stderr that says what is going on, if a person watches (stderr is a terminal). */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

/* Silent until this is called; one rank of a job calls it. */
void bench_progress_begin(void);

/* Replace the line. */
__attribute__((format(printf, 1, 2))) void bench_progress(const char *format, ...);

/* Erase the line, before anything else is printed. */
void bench_progress_end(void);

#endif
