/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variants: algorithms that a library has for a collective and can be told to use. The
 * library runs them, so they have no plan. This file has their names.
 * shim/mpi/run/variants.h tells an MPI library to use one, shim/nccl_plugin/ tells NCCL.
 *
 * Users name one as native:NAME in COLLSHIM_ALGORITHM, and one of NCCL's in a tuning profile.
 *
 * Pure functions of values that are the same on all ranks. Thread-safe.
 */
#ifndef COLLSHIM_PLANNERS_VARIANTS_H
#define COLLSHIM_PLANNERS_VARIANTS_H

#include <stdint.h>

#include "planners/choose/choose.h"

enum variant_library { VARIANT_OPENMPI, VARIANT_MPICH, VARIANT_NCCL };

/* It calls other collectives of its communicator, which have the library's choice there. */
enum { VARIANT_COMPOSED = -1 };

struct plan_variant {
    struct plan_algorithm row; /* name: "native:ring"; build refuses; no cost */
    enum variant_library library;
    enum plan_collective collective;
    int number;            /* of Open MPI; 0: none */
    int segment;           /* bytes, 0, or VARIANT_COMPOSED */
    const char *component; /* of Open MPI; "": MPICH, NCCL */
};

/* All of them, of all libraries; a set of them is a bit mask, two words. */
extern const struct plan_variant plan_variants[];
extern const int plan_variant_count;
enum { VARIANT_WORDS = 2 };
struct variant_set {
    uint64_t word[VARIANT_WORDS];
};

static inline int variant_set_has(const struct variant_set *s, int i)
{
    return (s->word[i / 64] >> i % 64 & 1) != 0;
}

static inline void variant_set_add(struct variant_set *s, int i)
{
    s->word[i / 64] |= 1ull << i % 64;
}

/* The variant that the row belongs to, or NULL: it is not one. Which of them: its index. */
const struct plan_variant *plan_variant_of(const struct plan_algorithm *row);
static inline int plan_variant_index(const struct plan_variant *v)
{
    return (int)(v - plan_variants);
}

/* A variant's place among those of its collective, of all libraries, and back; NULL: there are not
   so many. */
int plan_variant_place(const struct plan_variant *v);
const struct plan_variant *plan_variant_at(enum plan_collective c, int place);

/* The part of the name behind "native:". */
const char *plan_variant_name(const struct plan_variant *v);

/* The variant of the collective in the set by that name, or NULL. */
const struct plan_variant *plan_variant_find(const struct variant_set *set, enum plan_collective c,
                                             const char *name);

/* The library's variant of the collective by that name, or NULL. */
const struct plan_variant *plan_variant_named(enum variant_library library, enum plan_collective c,
                                              const char *name);

#endif
