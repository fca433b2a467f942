/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe against made-up libraries: those that combine like the kernels, and those that
 * saturate, mistake a sign, or do so in vectors alone.
 */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "shim/decide/choose/arithmetic.h"
#include "test/unit/suites.h"

/* Elements of a made-up library's vectors; what is left over is combined one by one. */
enum { VECTOR = 16 };

/* The library's result in vectors, and in the remainder: in op inout. */
struct library {
    kernel_fn body, rest;
    size_t extent;
    int calls;
};

static int combine(void *context, const void *in, void *inout, int n)
{
    struct library *l = context;
    size_t body = (size_t)n / VECTOR * VECTOR, at = body * l->extent;

    l->calls++;
    l->body(inout, in, inout, body);
    l->rest((char *)inout + at, (const char *)in + at, (char *)inout + at, (size_t)n - body);
    return 0;
}

static int refuse(void *context, const void *in, void *inout, int n)
{
    (void)context, (void)in, (void)inout, (void)n;
    return -1;
}

#define FOLD(name, T, formula)                                                                     \
    static void name(const void *a, const void *b, void *dst, size_t n)                            \
    {                                                                                              \
        const T *x = a, *y = b;                                                                    \
        T *to = dst;                                                                               \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = (T)(formula);                                                                  \
    }
FOLD(saturate_u8, uint8_t, x[i] + y[i] > UINT8_MAX ? UINT8_MAX : x[i] + y[i])
FOLD(saturate_u16, uint16_t, x[i] + y[i] > UINT16_MAX ? UINT16_MAX : x[i] + y[i])
FOLD(saturate_i16, int16_t,
     x[i] + y[i] > INT16_MAX   ? INT16_MAX
     : x[i] + y[i] < INT16_MIN ? INT16_MIN
                               : x[i] + y[i])
FOLD(either_operand, int32_t, y[i] ? y[i] : x[i])
FOLD(bitwise_or, int32_t, x[i] | y[i])

/* MAXLOC of {int, int} that keeps the higher index of equal values. */
static void higher_index(const void *a, const void *b, void *dst, size_t n)
{
    const int *x = a, *y = b;
    int *to = dst;

    for (size_t i = 0; i < 2 * n; i += 2) {
        int other = y[i] > x[i] || (y[i] == x[i] && y[i + 1] > x[i + 1]);

        memmove(to + i, (other ? y : x) + i, 2 * sizeof *to);
    }
}

static const struct pair {
    enum kernel_type type;
    enum kernel_op op;
    kernel_fn body, rest; /* NULL: the kernel; or of the type as_type */
    enum kernel_type as_type;
    enum arithmetic expected;
} pairs[] = {
    {KERNEL_U8, KERNEL_SUM, saturate_u8, NULL, 0, ARITHMETIC_UNEVEN},
    {KERNEL_U8, KERNEL_SUM, saturate_u8, saturate_u8, 0, ARITHMETIC_OTHER},
    {KERNEL_U16, KERNEL_SUM, saturate_u16, NULL, 0, ARITHMETIC_UNEVEN},
    {KERNEL_U16, KERNEL_SUM, saturate_u16, saturate_u16, 0, ARITHMETIC_OTHER},
    /* The same everywhere, but not in every order. */
    {KERNEL_I16, KERNEL_SUM, saturate_i16, saturate_i16, 0, ARITHMETIC_UNEVEN},
    {KERNEL_I32, KERNEL_LOR, either_operand, either_operand, 0, ARITHMETIC_UNEVEN},
    {KERNEL_I32, KERNEL_LOR, bitwise_or, bitwise_or, 0, ARITHMETIC_OTHER},
    /* Unsigned numbers compared as signed ones, and the other way round. */
    {KERNEL_U8, KERNEL_MAX, NULL, NULL, KERNEL_I8, ARITHMETIC_OTHER},
    {KERNEL_U16, KERNEL_MIN, NULL, NULL, KERNEL_I16, ARITHMETIC_OTHER},
    {KERNEL_U32, KERNEL_MAX, NULL, NULL, KERNEL_I32, ARITHMETIC_OTHER},
    {KERNEL_U64, KERNEL_MIN, NULL, NULL, KERNEL_I64, ARITHMETIC_OTHER},
    {KERNEL_I64, KERNEL_MAX, NULL, NULL, KERNEL_U64, ARITHMETIC_OTHER},
};

static enum arithmetic ask(const struct pair *p, struct library *l)
{
    kernel_fn kernel = kernel_find(p->as_type ? p->as_type : p->type, p->op);

    *l = (struct library){.body = p->body ? p->body : kernel,
                          .rest = p->rest ? p->rest : kernel,
                          .extent = kernel_extent(p->type)};
    return arithmetic_probe(p->type, p->op, combine, l);
}

START_TEST(test_arithmetic__a_library_that_combines_otherwise_is_found_out)
{
    struct library l;

    ck_assert_int_eq(ask(&pairs[_i], &l), pairs[_i].expected);
}
END_TEST

START_TEST(test_arithmetic__a_library_that_combines_as_we_do_is_the_same)
{
    for (int type = KERNEL_NONE + 1; type < KERNEL_TYPES; type++)
        for (int op = 0; op < KERNEL_OPS; op++) {
            struct pair p = {.type = (enum kernel_type)type, .op = (enum kernel_op)op};
            struct library l;

            if ((type >= KERNEL_F32 && type <= KERNEL_COMPLEX_LONG_DOUBLE) ||
                !kernel_find(p.type, p.op))
                continue;
            ck_assert_msg(ask(&p, &l) == ARITHMETIC_SAME, "type %d, operation %d", type, op);
            ck_assert_msg(l.calls > VECTOR && l.calls < 1000, "%d calls", l.calls);
        }
}
END_TEST

START_TEST(test_arithmetic__of_ties_the_higher_index_is_another_arithmetic)
{
    struct library l = {
        .body = higher_index, .rest = higher_index, .extent = kernel_extent(KERNEL_INT_INT)};

    ck_assert_int_eq(arithmetic_probe(KERNEL_INT_INT, KERNEL_MAXLOC, combine, &l),
                     ARITHMETIC_OTHER);
}
END_TEST

START_TEST(test_arithmetic__a_library_that_refuses_is_left_alone)
{
    ck_assert_int_eq(arithmetic_probe(KERNEL_I32, KERNEL_SUM, refuse, NULL), ARITHMETIC_UNEVEN);
}
END_TEST

Suite *suite_arithmetic(void)
{
    Suite *s = suite_create("arithmetic");
    TCase *t = tcase_create("arithmetic");

    tcase_add_loop_test(t, test_arithmetic__a_library_that_combines_otherwise_is_found_out, 0,
                        sizeof pairs / sizeof *pairs);
    tcase_add_test(t, test_arithmetic__a_library_that_combines_as_we_do_is_the_same);
    tcase_add_test(t, test_arithmetic__of_ties_the_higher_index_is_another_arithmetic);
    tcase_add_test(t, test_arithmetic__a_library_that_refuses_is_left_alone);
    suite_add_tcase(s, t);
    return s;
}
