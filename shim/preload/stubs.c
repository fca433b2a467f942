/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exported functions: for each row of symbols.def an MPI_ and a PMPI_ stub that jumps
 * through its slot, the slot, and the function the slot holds until the first call.
 *
 * Every argument is a uintptr_t and every result an int. An argument of an MPI call is a pointer,
 * an int, or a handle that is one of the two. So it fills one integer register or one stack word in
 * the calling convention. Passing that word on unread is right for every family without its mpi.h.
 * (A function with a floating argument, a struct by value or variable arguments, such as
 * MPI_Pcontrol, cannot be a row.)
 *
 * Rejected: the linker's slots (an ifunc, or a PLT with lazy binding), because their targets are
 * known only when an MPI call is made: at load time no libmpi need exist.
 */
#include <stdint.h>

#include "preload.h"
#include "words.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * A thread that reads a new slot must also see what the backend wrote before the slot was
 * stored. On x86 any load gives that; asking for acquire in words would only make the compiler
 * copy the stack arguments instead of leaving them where they are. Elsewhere, ask.
 */
#if defined(__x86_64__)
#define SLOT_ORDER __ATOMIC_RELAXED
#else
#define SLOT_ORDER __ATOMIC_ACQUIRE
#endif

enum row {
#define SYMBOL(name, n) ROW_##name,
#include "symbols.def"
#undef SYMBOL
    ROW_COUNT
};

#define CALL(function, n) ((int (*)(PARAMS_##n))(function))(ARGS_##n)

/* side is MPI or PMPI */
#define STUB(side, name, n)                                                                        \
    static void *slot_##side##_##name;                                                             \
    static int first_##side##_##name(PARAMS_##n)                                                   \
    {                                                                                              \
        return CALL(bind_first_call(&symbol_table[ROW_##name], &slot_##side##_##name,              \
                                    __builtin_return_address(0)),                                  \
                    n);                                                                            \
    }                                                                                              \
    static void *slot_##side##_##name = (void *)first_##side##_##name;                             \
    EXPORT int side##_##name(PARAMS_##n);                                                          \
    EXPORT int side##_##name(PARAMS_##n)                                                           \
    {                                                                                              \
        return CALL(__atomic_load_n(&slot_##side##_##name, SLOT_ORDER), n);                        \
    }

#define SYMBOL(name, n) STUB(MPI, name, n) STUB(PMPI, name, n)
#include "symbols.def"
#undef SYMBOL

const struct symbol symbol_table[] = {
#define SYMBOL(name, n) {"PMPI_" #name, "MPI_" #name, #name, &slot_MPI_##name, &slot_PMPI_##name},
#include "symbols.def"
#undef SYMBOL
};

const size_t symbol_count = ROW_COUNT;
