/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory as the shim sees it, without a CUDA type: what a pointer is, moving bytes, and a
 * struct device for the engine. In every build: without the CUDA headers cuda_absent.c answers
 * that there is none. Nothing here loads or starts the driver: a process that has not got it has
 * no device memory.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_MEMORY_H
#define COLLSHIM_TRANSPORTS_CUDA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "transports/base/device.h"
#include "transports/base/kernels.h"
#include "transports/cuda/cuda_place.h"

/*
 * Has this process got the driver? A few ns while it has not: libraries are looked through only
 * after one was loaded. Any thread.
 */
int cuda_present(void);

/*
 * 1, at the end of MPI_Init: the library that was loaded last is MPI's own, so it may be kept open,
 * and the answer is faster as long as no other one follows it. 0, in MPI_Finalize: let it go. No
 * other thread calls MPI.
 */
void cuda_keep_last(int keep);

/* The PCI address of the device whose context is current for the calling thread; bits from 16 on
   hold the domain. Negative: there is none, or it is unknown. Starts nothing. */
int64_t cuda_current_address(void);

/*
 * Is it memory of a device, managed memory included? The CPU must not touch such memory: it may not
 * be allowed there while the application's kernels run. Returns 1 and *place, or 0. A failed driver
 * gives no answer, for example after its device is lost. Then the result is 0 if the CPU can read
 * there, so that collectives on host memory go on. Otherwise it is 1, and all other functions
 * refuse the place: the call fails, not the process.
 */
int cuda_place_of(const void *p, struct cuda_place *place);

/* As cuda_current_address, of the device that it is on. */
int64_t cuda_place_address(const struct cuda_place *place);

/*
 * Move bytes between any two places; or n pieces, piece i from src + offset[i] to dst + offset[i],
 * all in one allocation on either side. After all that is in the default stream of `place`, which
 * one of the two lies in; returns when done: 0, or -EIO.
 */
int cuda_move(const struct cuda_place *place, void *dst, const void *src, size_t bytes);
struct cuda_piece {
    size_t offset, bytes;
};
int cuda_move_pieces(const struct cuda_place *place, void *dst, const void *src,
                     const struct cuda_piece *piece, size_t n);

/* The same for n pieces of one length, evenly spaced on either side. */
int cuda_move_spaced(const struct cuda_place *place, void *dst, size_t dst_stride, const void *src,
                     size_t src_stride, size_t bytes, size_t n);

/*
 * For a process that works for another one on its device. The first names that device for a
 * message. The second loads and starts the driver in a process of collshim's own, and holds that
 * device's primary context. Returns 0 or -ENODEV.
 */
enum { CUDA_BUS_ID = 16 };
int cuda_bus_id(const struct cuda_place *place, char id[CUDA_BUS_ID]);
int cuda_start(const char *bus_id, struct cuda_place *place);

/* Streams, events, kernels and memory of one context, for one communicator. */
struct cuda_gpu;

/* Returns 0 and *gpu_p (free with cuda_gpu_close), -ENOMEM or -EIO. */
int cuda_gpu_open(const struct cuda_place *place, struct cuda_gpu **gpu_p);
void cuda_gpu_close(struct cuda_gpu *gpu); /* NULL is fine */
int cuda_gpu_is_at(const struct cuda_gpu *gpu, const struct cuda_place *place);

/* Are there kernels for it? The first question loads them. Returns 1 or 0. */
int cuda_gpu_combines(struct cuda_gpu *gpu, enum kernel_type type, enum kernel_op op);

/* Device memory, and pinned memory, that are kept for the next call. Valid until the next of its
   kind; NULL if there is none, or bytes is 0. */
void *cuda_gpu_scratch(struct cuda_gpu *gpu, size_t bytes);
void *cuda_gpu_pinned(struct cuda_gpu *gpu, size_t bytes);

/*
 * Device memory that another process may reach; w NULL: that none will. NULL: there is none. To be
 * taken back before the gpu is closed, and not while the other has it open.
 */
char *cuda_gpu_lend(struct cuda_gpu *gpu, size_t bytes, struct device_window *w);
void cuda_gpu_take_back(struct cuda_gpu *gpu, char *at); /* NULL is fine */

/* The other's side of it. */
char *cuda_gpu_reach(struct cuda_gpu *gpu, const struct device_window *w);
void cuda_gpu_leave(struct cuda_gpu *gpu, char *at); /* NULL is fine */

/*
 * Begin a call. Everything started from here on comes after the application's work in the default
 * stream. type, op: of the data to be combined, or KERNEL_NONE. Returns the device, or NULL if the
 * driver refuses: then nothing has been started.
 */
struct device *cuda_gpu_begin(struct cuda_gpu *gpu, enum kernel_type type, enum kernel_op op);
void cuda_gpu_end(struct cuda_gpu *gpu);

#endif
