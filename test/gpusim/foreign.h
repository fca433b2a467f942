/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the simulated driver for other simulated libraries (test/ncclsim), found by dlsym()
 * on libcuda.so.1. No CUDA types, so that its users need no headers of CUDA.
 */
#ifndef COLLSHIM_TEST_GPUSIM_FOREIGN_H
#define COLLSHIM_TEST_GPUSIM_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* Runs on the stream's thread from modelled time `start`, returns when it ends; ns. */
typedef uint64_t (*gpusim_work)(void *data, uint64_t start);

/* Queue work as a kernel is queued. stream: a CUstream of that device's context. Returns a
 * CUresult; `data` is the work's only if that is 0. */
int gpusim_submit(void *stream, int device, gpusim_work run, void *data);

/*  The same for a stream in capture: at each launch of the graph the host calls `again`, which
   gives what that launch's work is run with, or NULL. `data` is from malloc() and is the graph's
   from here on, with any result. */
int gpusim_capture(void *stream, int device, gpusim_work run, void *(*again)(void *data),
                   void *data);

/* Where the bytes of a pointer that a kernel of the device may use are; NULL, and a violation, if
 * it may not. The memory counts as in use until gpusim_done(*hold). */
void *gpusim_use(const void *p, size_t bytes, int device, void **hold);
void gpusim_done(void *hold); /* NULL is fine */

/* Take memory of a device that nothing is put into, or give it back (negative). Returns a CUresult.
 */
int gpusim_reserve(int device, int64_t bytes);

#endif
