/* SPDX-License-Identifier: BSD-3-Clause */
#include "demand.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_RANK = 0, SEED = 1 };
static const double hot = 0.7;
#define MOST 1e18 /* of a file's numbers: their sum is finite then */

/* [ranks * ranks] parts of what a rank sends on average. */
static double *part;
static size_t ranks_known;

/* 0 .. 1 */
static double chance(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 40) / (double)(1 << 24);
}

/* Each rank sends 0.7 to rank 0 and the rest to all alike, by up to a fifth more or less. */
static void make_up(size_t n)
{
    uint64_t state = SEED * 0x9e3779b97f4a7c15ull + 1;

    for (size_t from = 0; from < n; from++)
        for (size_t to = 0; to < n; to++) {
            double share = from == HOT_RANK ? 1 : to == HOT_RANK ? hot * (double)n : 1 - hot;

            part[from * n + to] = share * (0.8 + 0.4 * chance(&state));
        }
}

static int read_rows(FILE *file, const char *path, size_t n, char *why, size_t size)
{
    size_t found = 0;

    while (found < n * n && fscanf(file, "%lf", &part[found]) == 1 && part[found] >= 0 &&
           part[found] <= MOST)
        found++;
    for (int c; (c = fgetc(file)) != EOF && isspace(c);)
        ;
    if (found == n * n && feof(file))
        return 0;
    snprintf(why, size, "%s: expected %zu rows of %zu numbers and nothing else", path, n, n);
    return -EINVAL;
}

static int read_file(const char *path, size_t n, char *why, size_t size)
{
    FILE *file = fopen(path, "r");
    int rc = file ? read_rows(file, path, n, why, size) : -errno;

    if (!file)
        snprintf(why, size, "%s: %s", path, strerror(-rc));
    else
        fclose(file);
    return rc;
}

/* Nothing to oneself, and a mean row of 1. */
static int scale(size_t n, char *why, size_t size)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += part[i] *= i % (n + 1) != 0;
    for (size_t i = 0; i < n * n; i++)
        part[i] *= sum > 0 ? (double)n / sum : 0;
    if (sum > 0 || n == 1)
        return 0;
    snprintf(why, size, "nobody sends anything");
    return -EINVAL;
}

int bench_demand_open(const char *path, int ranks, char *why, size_t size)
{
    size_t n = ranks_known = (size_t)ranks;
    int rc = 0;

    part = calloc(n * n, sizeof(*part));
    if (!part) {
        snprintf(why, size, "not enough memory");
        return -ENOMEM;
    }
    if (path)
        rc = read_file(path, n, why, size);
    else
        make_up(n);
    return rc ? rc : scale(n, why, size);
}

void bench_demand_close(void)
{
    free(part);
    part = NULL;
}

size_t bench_demand_message(size_t bytes, int from, int to)
{
    return (size_t)((double)bytes * part[(size_t)from * ranks_known + (size_t)to] + 0.5);
}
