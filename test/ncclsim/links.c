/* SPDX-License-Identifier: BSD-3-Clause */
/* What NCCLSIM says: "near=GB/s far=GB/s" gives links inside a host and between hosts a rate. */
#include <stdlib.h>
#include <string.h>

#include "test/ncclsim/work.h"

/* The number behind a name; 0 without. */
static double number_of(const char *name)
{
    const char *text = getenv("NCCLSIM"), *at = text ? strstr(text, name) : NULL;

    return at ? strtod(at + strlen(name), NULL) : 0;
}

int sim_version(void)
{
    int set = (int)number_of("version=");

    return set ? set : NCCL_VERSION_CODE;
}

double links_near_rate(void)
{
    return number_of("near=");
}

double links_far_rate(void)
{
    return number_of("far=");
}

uint64_t links_ns(uint64_t bytes, double rate)
{
    return rate > 0 ? (uint64_t)((double)bytes / rate) : 0;
}

int links_are_far(const struct board *b, int from, int to)
{
    return b->member[from].host != b->member[to].host;
}
