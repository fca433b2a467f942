/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates of this machine's GPUs, for planners that divide work between them and the host
 * (planners/algorithms/collaborative/). Only a process of collshim's own calls this: it loads the
 * driver, and makes contexts.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_RATES_H
#define COLLSHIM_TRANSPORTS_CUDA_RATES_H

/* Bytes per second; 0: not measured. */
struct cuda_rates {
    double between; /* from one GPU's memory to another's; 0 where there is one GPU */
    double bus;     /* to pinned memory or from it, whichever is slower */
    double combine; /* of results of a kernel that adds two vectors of floats */
};

/*
 * Measure them on the first GPU, and the next one. Returns 0 and *r, or -ENODEV with a constant
 * text or the driver's in *why: there is no driver, no device or it refuses.
 */
int cuda_rates_measure(struct cuda_rates *r, const char **why);

#endif
