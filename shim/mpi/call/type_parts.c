/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/call/type_parts.h"

#include <stdlib.h>

#include "shim/mpi/api/calls.h"

/* The combiner of MPI_Type_get_value_index, which is younger than the mpi.h of some builds. */
#if defined(MPICH_VERSION)
enum { VALUE_INDEX = 20 };
#elif defined(MPI_ABI_VERSION)
enum { VALUE_INDEX = MPI_COMBINER_VALUE_INDEX };
#else
enum { VALUE_INDEX = MPI_COMBINER_NAMED };
#endif

/* The F90 types, and pairs of a value and an index, are predefined but may have no name. */
int type_is_predefined(const struct type_parts *p)
{
    return p->combiner == MPI_COMBINER_NAMED || p->combiner == MPI_COMBINER_F90_REAL ||
           p->combiner == MPI_COMBINER_F90_COMPLEX || p->combiner == MPI_COMBINER_F90_INTEGER ||
           p->combiner == (int)VALUE_INDEX;
}

/* MPI_Type_get_envelope fails, through the error handler, on a type made with large counts. */
int type_parts_of(MPI_Datatype type, struct type_parts *p)
{
    MPI_Count integers, addresses, counts, types;

    *p = (struct type_parts){0};
    if (!mpi.Type_get_envelope_c)
        return mpi.Type_get_envelope(type, &p->integers, &p->addresses, &p->types, &p->combiner)
                   ? -1
                   : 0;
    if (mpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &p->combiner))
        return -1;
    p->integers = (int)integers;
    p->addresses = (int)addresses;
    p->types = (int)types;
    p->large = counts > 0;
    return 0;
}

static void free_arrays(struct type_contents *c)
{
    free(c->integer);
    free(c->address);
    free(c->type);
}

int type_contents_open(MPI_Datatype type, struct type_contents *c)
{
    struct type_parts *p = &c->parts;

    if (type_parts_of(type, p) < 0 || p->large || type_is_predefined(p))
        return -1;
    c->integer = malloc(((size_t)p->integers + 1) * sizeof *c->integer);
    c->address = malloc(((size_t)p->addresses + 1) * sizeof *c->address);
    c->type = malloc(((size_t)p->types + 1) * sizeof(MPI_Datatype));
    if (c->integer && c->address && c->type &&
        mpi.Type_get_contents(type, p->integers, p->addresses, p->types, c->integer, c->address,
                              c->type) == MPI_SUCCESS)
        return 0;
    free_arrays(c);
    return -1;
}

/* Contents of derived types are new references. */
void type_contents_close(struct type_contents *c)
{
    struct type_parts p;

    for (int i = 0; i < c->parts.types; i++)
        if (!type_parts_of(c->type[i], &p) && !type_is_predefined(&p))
            mpi.Type_free(&c->type[i]);
    free_arrays(c);
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Count lower, extent = 0;

    mpi.Type_get_extent_x(type, &lower, &extent);
    return (MPI_Aint)extent;
}

/* From the start of one block of a vector to the next. */
static MPI_Aint stride_of(const struct type_contents *c)
{
    return c->parts.combiner == MPI_COMBINER_VECTOR ? c->integer[2] * extent_of(c->type[0])
                                                    : c->address[0];
}

/* Do the blocks of a vector lie one behind the other? */
static int is_one_run(const struct type_contents *c)
{
    return stride_of(c) == c->integer[1] * extent_of(c->type[0]);
}

/* The arguments of a subarray: its dimensions, and for each the array's, its own, its start. */
struct subarray {
    int n, fastest, step; /* step: from the fastest dimension to the next */
    const int *whole, *part, *start;
};

static struct subarray subarray_of(const struct type_contents *c)
{
    int n = c->integer[0], fortran = c->integer[1 + 3 * n] == MPI_ORDER_FORTRAN;

    return (struct subarray){.n = n,
                             .fastest = fortran ? 0 : n - 1,
                             .step = fortran ? 1 : -1,
                             .whole = c->integer + 1,
                             .part = c->integer + 1 + n,
                             .start = c->integer + 1 + 2 * n};
}

/* A block is what is contiguous of the fastest dimension. */
static MPI_Count subarray_blocks(const struct type_contents *c)
{
    struct subarray s = subarray_of(c);
    MPI_Count n = 1;

    for (int d = 0; d < s.n; d++)
        n *= d == s.fastest ? 1 : s.part[d];
    return n;
}

static struct type_block subarray_block(const struct type_contents *c, MPI_Count i)
{
    struct subarray s = subarray_of(c);
    MPI_Aint elements = s.start[s.fastest], row = s.whole[s.fastest];

    for (int k = 1, d = s.fastest + s.step; k < s.n; k++, d += s.step) {
        elements += (s.start[d] + (MPI_Aint)(i % s.part[d])) * row;
        i /= s.part[d];
        row *= s.whole[d];
    }
    return (struct type_block){elements * extent_of(c->type[0]), s.part[s.fastest], c->type[0]};
}

MPI_Count type_blocks(const struct type_contents *c)
{
    switch (c->parts.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_CONTIGUOUS:
        return 1;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return is_one_run(c) ? 1 : c->integer[0];
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return c->integer[0];
    case MPI_COMBINER_SUBARRAY:
        return subarray_blocks(c);
    default:
        return -1;
    }
}

struct type_block type_block_at(const struct type_contents *c, MPI_Count i)
{
    const int *number = c->integer;
    MPI_Datatype type = c->type[0];

    switch (c->parts.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return (struct type_block){0, number[0], type};
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        if (is_one_run(c))
            return (struct type_block){0, (MPI_Count)number[0] * number[1], type};
        return (struct type_block){stride_of(c) * (MPI_Aint)i, number[1], type};
    case MPI_COMBINER_INDEXED:
        return (struct type_block){number[1 + number[0] + i] * extent_of(type), number[1 + i],
                                   type};
    case MPI_COMBINER_INDEXED_BLOCK:
        return (struct type_block){number[2 + i] * extent_of(type), number[1], type};
    case MPI_COMBINER_HINDEXED:
        return (struct type_block){c->address[i], number[1 + i], type};
    case MPI_COMBINER_HINDEXED_BLOCK:
        return (struct type_block){c->address[i], number[1], type};
    case MPI_COMBINER_STRUCT:
        return (struct type_block){c->address[i], number[1 + i], c->type[i]};
    case MPI_COMBINER_SUBARRAY:
        return subarray_block(c, i);
    default:
        return (struct type_block){0, 1, type};
    }
}
