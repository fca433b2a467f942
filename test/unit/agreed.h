/* SPDX-License-Identifier: BSD-3-Clause */
/* An agreement of ranks that are simulated one after the other. */
#ifndef COLLSHIM_TEST_UNIT_AGREED_H
#define COLLSHIM_TEST_UNIT_AGREED_H

#include <check.h>
#include <string.h>

#include "shim/decide/guard/guard.h"

/* Ranks run one after the other here, so the maximum is worked out before, and told
 * afterwards. */
struct agreed {
    double value[GUARD_VALUES];
    int n, asked;
};

/* Note what a rank would hand in, and go no further. */
static inline int agreed_collect(void *context, double *value, int n)
{
    struct agreed *a = context;

    ck_assert_msg(a->asked == 0 || n == a->n, "ranks agree on %d and %d values", a->n, n);
    for (int i = 0; i < n; i++)
        a->value[i] = a->asked && a->value[i] > value[i] ? a->value[i] : value[i];
    a->asked++;
    a->n = n;
    return -1;
}

static inline int agreed_tell(void *context, double *value, int n)
{
    const struct agreed *a = context;

    ck_assert_int_eq(n, a->n);
    memcpy(value, a->value, (size_t)n * sizeof *value);
    return 0;
}

#endif
