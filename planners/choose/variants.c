/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/choose/variants.h"

#include <errno.h>
#include <string.h>

static int no_plan(const struct plan_request *q, struct plan **plan_p)
{
    (void)q;
    (void)plan_p;
    return -ENOTSUP;
}

#define PREFIX "native:"

/* clang-format off: rows of variants.def */
const struct plan_variant plan_variants[] = {
#define VARIANT(library_, collective_, name_, number_, segment_, component_)                       \
    {.row = {.name = PREFIX name_,                                                                 \
             .collectives = 1u << COLL_##collective_,                                              \
             .description = "the library's own",                                                   \
             .source = "the library",                                                              \
             .build = no_plan},                                                                    \
     .library = VARIANT_##library_,                                                                \
     .collective = COLL_##collective_,                                                             \
     .number = number_,                                                                            \
     .segment = segment_,                                                                          \
     .component = component_},
#include "planners/choose/variants.def"
#undef VARIANT
};
/* clang-format on */
const int plan_variant_count = sizeof plan_variants / sizeof *plan_variants;
_Static_assert(sizeof plan_variants / sizeof *plan_variants <= 64 * VARIANT_WORDS,
               "a bit for each variant");

const struct plan_variant *plan_variant_of(const struct plan_algorithm *row)
{
    uintptr_t at = (uintptr_t)row, first = (uintptr_t)plan_variants; /* row is the first member */

    return at >= first && at < first + sizeof plan_variants
               ? &plan_variants[(at - first) / sizeof *plan_variants]
               : NULL;
}

/* Remembered, since each call of a variant is counted by it. Threads that ask at once find the
   same. */
int plan_variant_place(const struct plan_variant *v)
{
    static unsigned char known[sizeof plan_variants / sizeof *plan_variants]; /* 1 + place */
    unsigned char *at = &known[plan_variant_index(v)];
    int place = __atomic_load_n(at, __ATOMIC_RELAXED) - 1;

    if (place >= 0)
        return place;
    place = 0;
    for (const struct plan_variant *before = plan_variants; before < v; before++)
        place += before->collective == v->collective;
    __atomic_store_n(at, (unsigned char)(place + 1), __ATOMIC_RELAXED);
    return place;
}

const struct plan_variant *plan_variant_at(enum plan_collective c, int place)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].collective == c && place-- == 0)
            return &plan_variants[i];
    return NULL;
}

const char *plan_variant_name(const struct plan_variant *v)
{
    return v->row.name + sizeof PREFIX - 1;
}

const struct plan_variant *plan_variant_find(const struct variant_set *set, enum plan_collective c,
                                             const char *name)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (variant_set_has(set, i) && plan_variants[i].collective == c &&
            !strcmp(plan_variant_name(&plan_variants[i]), name))
            return &plan_variants[i];
    return NULL;
}

const struct plan_variant *plan_variant_named(enum variant_library library, enum plan_collective c,
                                              const char *name)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].library == library && plan_variants[i].collective == c &&
            !strcmp(plan_variant_name(&plan_variants[i]), name))
            return &plan_variants[i];
    return NULL;
}
