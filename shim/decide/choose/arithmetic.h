/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a library combine as the kernels of transports/ do? MPI leaves the result of an overflow
 * open, and libraries differ. Some saturate in vectors and wrap round in the remainder; some
 * compare unsigned numbers as signed ones. A program must see the same arithmetic in rerouted and
 * in native calls.
 */
#ifndef COLLSHIM_SHIM_DECIDE_ARITHMETIC_H
#define COLLSHIM_SHIM_DECIDE_ARITHMETIC_H

#include <stddef.h>

#include "transports/base/kernels.h"

enum arithmetic {
    ARITHMETIC_SAME,   /* as the kernel */
    ARITHMETIC_OTHER,  /* not as the kernel, but alike for an element wherever it lies */
    ARITHMETIC_UNEVEN, /* the result depends on an element's place or on the order of combining:
                          only the library itself gives what it gives */
};

/* inout[i] = in[i] op inout[i] for n elements, by the library. Returns 0 if it did. */
typedef int (*arithmetic_fn)(void *context, const void *in, void *inout, int n);

/*
 * Compare on telling values: limits, signs, overflows, ties; in vectors of several lengths, at
 * several addresses. type, op: a pair that has a kernel, and no reals but in pairs. Takes some 100
 * us. ARITHMETIC_UNEVEN also if the library refuses or there is no memory. Any thread; calls only
 * the library's function.
 */
enum arithmetic arithmetic_probe(enum kernel_type type, enum kernel_op op, arithmetic_fn library,
                                 void *context);

#endif
