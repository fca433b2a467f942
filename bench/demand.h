/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix of sizes of an exchange: the proportions of a file's numbers, or invented ones. A file
 * has a row per sender, as `collshim plan alltoallv --demand KIND --rows` prints it; so the shapes
 * of a demand are written down in one place, and this program need not know them.
 */
#ifndef BENCH_DEMAND_H
#define BENCH_DEMAND_H

#include <stddef.h>

/*
 * Read the file, or make a demand up if path is NULL. Before the first exchange, once per process;
 * each rank reads for itself. Returns 0 or a negative code; then why says what is wrong.
 */
int bench_demand_open(const char *path, int ranks, char *why, size_t size);
void bench_demand_close(void);

/* Bytes of the message, where a rank sends `bytes` on average; nothing goes to oneself. */
size_t bench_demand_message(size_t bytes, int from, int to);

#endif
