/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element-wise reduction on a device, enqueued on a stream: dst = src[0] op src[1] op ..., read and
 * stored in one pass. Kernels come as an image that the build embeds; a build without nvcc has none
 * and every request is refused with -ENOTSUP.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_REDUCE_H
#define COLLSHIM_TRANSPORTS_CUDA_REDUCE_H

#include <stddef.h>

#include "transports/cuda/cuda_driver.h"
#include "transports/cuda/cuda_reduce_args.h"

enum reduce_type {
#define REDUCE_TYPE(name, stored, held) REDUCE_TYPE_##name,
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_TYPE
    REDUCE_TYPE_COUNT
};

enum reduce_op {
#define REDUCE_OP(name) REDUCE_OP_##name,
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_OP
    REDUCE_OP_COUNT
};

const char *reduce_type_name(enum reduce_type type);
const char *reduce_op_name(enum reduce_op op);
size_t reduce_type_bytes(enum reduce_type type);

/* Is there a kernel for the pair? Knows the table only: the same answer on every rank of a build.
 */
int cuda_reduce_exists(enum reduce_op op, enum reduce_type type);

/* The kernels of one context. */
struct cuda_reducer;

/*
 * Load the kernels into the current context. cu is borrowed and must outlive the reducer. Returns 0
 * and *reducer_p; free it with cuda_reducer_free() in the same context. -ENOTSUP: this build has no
 * kernels, or none for the device. -ENOMEM. -EIO: the driver refused otherwise.
 */
int cuda_reducer_create(const struct cuda_calls *cu, struct cuda_reducer **reducer_p);
void cuda_reducer_free(struct cuda_reducer *reducer); /* NULL is fine; nothing of it in flight */
/* The same where the context is gone, and its kernels with it: the driver is not asked. */
void cuda_reducer_forget(struct cuda_reducer *reducer);

/*
 * Enqueue one reduction on a stream of the current context, which is the reducer's. args is copied.
 * Buffers stay the caller's. They may be of any device the context can access, and must be aligned
 * to their element. They may not overlap, except that dst may be a source. 16-byte accesses are
 * used where all of them have the same offset from a 16-byte boundary. Returns 0, -ENOTSUP for a
 * pair without a kernel, -EINVAL for args no kernel takes, or -EIO. Any number of threads, each
 * with its own stream.
 */
int cuda_reduce(struct cuda_reducer *reducer, enum reduce_op op, enum reduce_type type,
                const struct cuda_reduce_args *args, CUstream stream);

/* The same for 1 .. CUDA_REDUCE_PASSES reductions in one launch, in any order: what one of them
   writes, no other reads or writes. */
int cuda_reduce_several(struct cuda_reducer *reducer, enum reduce_op op, enum reduce_type type,
                        const struct cuda_reduce_args *pass, unsigned n, CUstream stream);

/* The kernels in this build, for people; static. */
const char *cuda_kernels_built(void);

#endif
