/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread's floating-point registers: how it rounds, what traps, whether it flushes small numbers
 * to zero, and which exceptions it has seen. A program may set them differently on each rank. Not
 * <fenv.h>, which needs libm, and which does not tell of flushing.
 *
 * On processors without code here nothing is read or set.
 */
#ifndef COLLSHIM_TRANSPORTS_FLOAT_MODE_H
#define COLLSHIM_TRANSPORTS_FLOAT_MODE_H

#include <stdint.h>

#if defined(__x86_64__)
struct float_mode {
    uint32_t sse;            /* MXCSR: control and flags */
    uint16_t x87, x87_flags; /* the control word; the status word's flags */
};
enum { FLOAT_SSE_FLAGS = 0x3f, FLOAT_SSE = 0x1f80, FLOAT_X87 = 0x37f };

static inline void float_mode_read(struct float_mode *m)
{
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
                     : "=m"(m->sse), "=m"(m->x87), "=a"(m->x87_flags)
                     :
                     : "memory");
}

/* From one state of the registers to another. */
static inline void float_mode_write(const struct float_mode *to, const struct float_mode *from)
{
    uint16_t flags = to->x87_flags & FLOAT_SSE_FLAGS;

    if (to->sse != from->sse)
        __asm__ volatile("ldmxcsr %0" : : "m"(to->sse) : "memory");
    if (flags != (from->x87_flags & FLOAT_SSE_FLAGS)) {
        uint32_t environment[7];

        __asm__ volatile("fnstenv %0" : "=m"(environment) : : "memory");
        environment[1] = (environment[1] & ~(uint32_t)FLOAT_SSE_FLAGS) | flags;
        __asm__ volatile("fldenv %0\n\tfldcw %1" : : "m"(environment), "m"(to->x87) : "memory");
    } else if (to->x87 != from->x87) {
        __asm__ volatile("fldcw %0" : : "m"(to->x87) : "memory");
    }
}

/* The state with the default mode, and the flags as they are. */
static inline struct float_mode float_mode_default(const struct float_mode *now)
{
    return (struct float_mode){.sse = FLOAT_SSE | (now->sse & FLOAT_SSE_FLAGS),
                               .x87 = FLOAT_X87,
                               .x87_flags = now->x87_flags};
}
#elif defined(__aarch64__)
struct float_mode {
    uint64_t control, flags; /* FPCR, FPSR */
};

static inline void float_mode_read(struct float_mode *m)
{
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                     : "=r"(m->control), "=r"(m->flags)
                     :
                     : "memory");
}

static inline void float_mode_write(const struct float_mode *to, const struct float_mode *from)
{
    if (to->control != from->control)
        __asm__ volatile("msr fpcr, %0" : : "r"(to->control) : "memory");
    if (to->flags != from->flags)
        __asm__ volatile("msr fpsr, %0" : : "r"(to->flags) : "memory");
}

static inline struct float_mode float_mode_default(const struct float_mode *now)
{
    return (struct float_mode){.flags = now->flags};
}
#else
struct float_mode {
    char none;
};

static inline void float_mode_read(struct float_mode *m)
{
    m->none = 0;
}

static inline void float_mode_write(const struct float_mode *to, const struct float_mode *from)
{
    (void)to;
    (void)from;
}

static inline struct float_mode float_mode_default(const struct float_mode *now)
{
    return *now;
}
#endif

#endif
