/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A symbol that NCCL looks up, and that exists only if it is wanted.
 *
 * A plugin exists for NCCL if dlsym() finds its table. Even a tuner that changes nothing has an
 * effect: with one, NCCL 2.28 skips its choice by CTA policy (ncclGetAlgoInfo, enqueue.cc). A
 * profiler is called for each event. So the symbol is an indirect one (STT_GNU_IFUNC): dlsym()
 * calls a function that returns the table, or NULL. It is called with the loader's lock held, so it
 * waits for no other thread. Rejected: a plain table, and the advice to set NCCL_TUNER_PLUGIN only
 * where it has work to do.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_ENTRY_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#define ENTRY_NAME "collshim"

typedef void entry_function(void);

/* symbol: as dlsym() is asked. wanted: int wanted(void), asked at each look-up. */
#define ENTRY(symbol, table, wanted)                                                               \
    static entry_function *find_##symbol(void)                                                     \
    {                                                                                              \
        const void *at = wanted() ? &(table) : NULL;                                               \
                                                                                                   \
        return (entry_function *)(uintptr_t)at;                                                    \
    }                                                                                              \
    __attribute__((visibility("default"), ifunc("find_" #symbol))) void symbol(void);

#endif
