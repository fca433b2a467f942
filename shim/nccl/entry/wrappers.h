/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that take the place of NCCL's, for the copy of it that is meant. */
#ifndef COLLSHIM_SHIM_NCCL_WRAPPERS_H
#define COLLSHIM_SHIM_NCCL_WRAPPERS_H

#include "shim/nccl/call/process.h"

#define UNPACK(...) __VA_ARGS__
#define NCCL_WRAP(need, name, params, args)                                                        \
    ncclResult_t nccl_wrap_##name(struct nccl_copy *copy, UNPACK params);
#define NCCL_BARE(need, name) ncclResult_t nccl_wrap_##name(struct nccl_copy *copy);
#include "transports/net/nccl_calls.def"

#endif
