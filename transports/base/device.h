/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the CPU does not touch, and the device that copies and combines there. Work is
 * started and asked about later, so that it goes on while messages do. Dependent work starts after
 * the job was reported done: there is no other order between jobs than the one below.
 *
 * A device serves one call at a time, by one thread. cuda_device.c is the real one; the unit tests
 * have one that is late at random.
 */
#ifndef COLLSHIM_TRANSPORTS_DEVICE_H
#define COLLSHIM_TRANSPORTS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* Memory of a device that other processes' devices may reach. Plain bytes. */
struct device_window {
    unsigned char handle[64];
    uint64_t bytes;
    int32_t pid; /* whose it is */
};

/* Enough for what a rank sends to seven others at once, in six chunks of 512 KiB each
   (planners/algorithms/collaborative/). Anything beyond goes by the host. */
enum { DEVICE_WINDOW_BYTES = 24 << 20 };

struct device {
    void *state;
    /* Start dst = src. Either may be host memory that cells() gave or that is pinned. Jobs that
       cross in the same direction (or not at all), combining included, are done in the order in
       which they were started. Returns 0 and *job, or a negative code. */
    int (*copy)(void *state, void *dst, const void *src, size_t bytes, unsigned *job);
    /* Start dst = a op b, whole elements; dst in device memory and may be a; a and b as above. */
    int (*combine)(void *state, const void *a, const void *b, void *dst, size_t bytes,
                   unsigned *job);
    /* Is it done? Then its number may come back. Returns 1, 0 or a negative code. */
    int (*test)(void *state, unsigned job);
    /* Pinned host memory of at least so many bytes, 64-byte aligned; the device's, until the next
       cells(). NULL: no memory. */
    void *(*cells)(void *state, size_t bytes);
    /* The same in the device's own memory, as much as there is, never freed. Returns the first byte
       and how others reach it, or NULL: they cannot. */
    char *(*window)(void *state, struct device_window *w);
    /* Reach another process's window, once: its address here, or NULL. leave: end that; no
       operation of any call may be under way in it. pull: copy from there to host memory, and wait;
       also outside a call. Returns 0 or a negative code. */
    char *(*reach)(void *state, const struct device_window *w);
    void (*leave)(void *state, char *at);
    int (*pull)(void *state, void *host, const char *from, size_t bytes);
    /* After an error: return when nothing that was started can touch memory any more. */
    void (*settle)(void *state);
};

#endif
