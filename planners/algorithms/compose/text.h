/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A composition that a user writes (HiCCL, section III): multicasts, reductions and fences, over
 * the machine that compose_shape.c describes. docs/papers/hiccl.md has the language.
 *
 *     machine(hierarchy=4:4, stripe=4, ring=4, pipeline=8)
 *     for i in all { reduction(all; i; block i; op) }
 *     fence
 *     for i in all { multicast(i; all; block i) }
 *
 * The operation is the program's: a text says op, and serves calls of any operation.
 *
 * A text serves nothing before the checker has proved it: the plans of all ranks, in place and not,
 * must compute what the collective means. One proof holds for a text, a topology and a root, and
 * for all sizes: a text names whole blocks, so a size changes lengths alone. The verdict is kept.
 * It is a function of values that are equal on all ranks, so all find the same one without a
 * message.
 */
#ifndef COLLSHIM_PLANNERS_TEXT_H
#define COLLSHIM_PLANNERS_TEXT_H

#include "planners/plan/algorithm.h"

enum { TEXT_MOST_BYTES = 1 << 20 };

/* The row. Its recipe is what text_keep wrote. Not in the registry: it needs a file. */
extern const struct plan_algorithm plan_text;

/*
 * Keep a text until the process ends. content: size bytes, copied. recipe: filled in with the name,
 * '@' and the content's hash, so that equal recipes are equal texts. wanted: that hash as 16 hex
 * digits, or NULL. Returns 0, or -EINVAL or -ENOMEM with one line in why, which names file, line
 * and column. Thread-safe.
 */
int text_keep(const char *name, const char *content, size_t size, const char *wanted, char *recipe,
              size_t recipe_size, char *why, size_t why_size);

#endif
