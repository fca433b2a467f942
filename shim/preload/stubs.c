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

#define PARAMS_0 void
#define PARAMS_1 uintptr_t a1
#define PARAMS_2 PARAMS_1, uintptr_t a2
#define PARAMS_3 PARAMS_2, uintptr_t a3
#define PARAMS_4 PARAMS_3, uintptr_t a4
#define PARAMS_5 PARAMS_4, uintptr_t a5
#define PARAMS_6 PARAMS_5, uintptr_t a6
#define PARAMS_7 PARAMS_6, uintptr_t a7
#define PARAMS_8 PARAMS_7, uintptr_t a8
#define PARAMS_9 PARAMS_8, uintptr_t a9
#define PARAMS_10 PARAMS_9, uintptr_t a10
#define PARAMS_11 PARAMS_10, uintptr_t a11

#define ARGS_0
#define ARGS_1 a1
#define ARGS_2 ARGS_1, a2
#define ARGS_3 ARGS_2, a3
#define ARGS_4 ARGS_3, a4
#define ARGS_5 ARGS_4, a5
#define ARGS_6 ARGS_5, a6
#define ARGS_7 ARGS_6, a7
#define ARGS_8 ARGS_7, a8
#define ARGS_9 ARGS_8, a9
#define ARGS_10 ARGS_9, a10
#define ARGS_11 ARGS_10, a11

enum row {
#define SYMBOL(name, n) ROW_##name,
#include "symbols.def"
#undef SYMBOL
    ROW_COUNT
};

#define CALL(function, n) ((int (*)(PARAMS_##n))(function))(ARGS_##n)

/* side is MPI or PMPI */
#define STUB(side, name, n)                                                                        \
    static int first_##side##_##name(PARAMS_##n)                                                   \
    {                                                                                              \
        return CALL(bind_first_call(ROW_##name, SIDE_##side, __builtin_return_address(0)), n);     \
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
