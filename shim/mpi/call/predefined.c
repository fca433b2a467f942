/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handle decides the kind; the library says how large it is, which a compiler's options may
 * change in Fortran.
 *
 * Rejected: asking for a type's name instead of comparing handles. A program may rename it.
 */
#include "shim/mpi/call/predefined.h"

#include "shim/mpi/api/process.h"
#include "shim/mpi/call/type_parts.h"

/*
 * Handles that the mpi.h of the build lacks, though a later library has them. MPICH's handles are
 * numbers that its ABI fixes. Open MPI's are addresses: weak, since not every version has them all.
 * The standard ABI has all names.
 */
#if defined(OMPI_MAJOR_VERSION)
#define OPTIONAL_TYPE(symbol) extern struct ompi_predefined_datatype_t symbol __attribute__((weak));
OPTIONAL_TYPE(ompi_mpi_logical1)
OPTIONAL_TYPE(ompi_mpi_logical2)
OPTIONAL_TYPE(ompi_mpi_logical4)
OPTIONAL_TYPE(ompi_mpi_logical8)
OPTIONAL_TYPE(ompi_mpi_integer1)
OPTIONAL_TYPE(ompi_mpi_integer2)
OPTIONAL_TYPE(ompi_mpi_integer4)
OPTIONAL_TYPE(ompi_mpi_integer8)
OPTIONAL_TYPE(ompi_mpi_integer16)
OPTIONAL_TYPE(ompi_mpi_real2)
OPTIONAL_TYPE(ompi_mpi_real4)
OPTIONAL_TYPE(ompi_mpi_real8)
OPTIONAL_TYPE(ompi_mpi_real16)
OPTIONAL_TYPE(ompi_mpi_complex4)
OPTIONAL_TYPE(ompi_mpi_complex8)
OPTIONAL_TYPE(ompi_mpi_complex16)
OPTIONAL_TYPE(ompi_mpi_complex32)
OPTIONAL_TYPE(ompi_mpi_cxx_bool)
OPTIONAL_TYPE(ompi_mpi_cxx_cplex)
OPTIONAL_TYPE(ompi_mpi_cxx_dblcplex)
OPTIONAL_TYPE(ompi_mpi_cxx_ldblcplex)
OPTIONAL_TYPE(ompi_mpi_short_float)
OPTIONAL_TYPE(ompi_mpi_c_short_float_complex)
OPTIONAL_TYPE(ompi_mpi_cxx_sfltcplex)
#define SIZED(name, symbol, number) ((MPI_Datatype)(void *)&(symbol))
#elif defined(MPICH_VERSION)
#define SIZED(name, symbol, number) ((MPI_Datatype)(number))
#else
#define SIZED(name, symbol, number) (name)
#endif

static const struct {
    MPI_Datatype type;
    enum predefined_kind kind;
    enum predefined_layout layout;
} rows[] = {
#define TYPE(handle, kind, layout) {handle, kind, layout},
#include "shim/mpi/call/predefined.def"
#undef TYPE
};
enum { HANDLES = sizeof rows / sizeof *rows };

/* By the size of a number: 1, 2, 4, 8, or more bytes. */
enum { COLUMNS = 5 };
static const unsigned char kernels[PREDEFINED_LAYOUTS][PREDEFINED_KINDS][COLUMNS] = {
    [SINGLE] = {[SIGNED] = {KERNEL_I8, KERNEL_I16, KERNEL_I32, KERNEL_I64},
                [COUNTING] = {KERNEL_I8, KERNEL_I16, KERNEL_I32, KERNEL_I64},
                [UNSIGNED] = {KERNEL_U8, KERNEL_U16, KERNEL_U32, KERNEL_U64},
                [C_REAL] = {0, 0, KERNEL_F32, KERNEL_F64, KERNEL_LONG_DOUBLE},
                [F_REAL] = {0, 0, KERNEL_F32, KERNEL_F64},
                [BOOL] = {KERNEL_BOOL},
                [BYTES] = {KERNEL_U8}},
    [COMPLEX] = {[C_REAL] = {0, 0, KERNEL_C32, KERNEL_C64, KERNEL_COMPLEX_LONG_DOUBLE},
                 [F_REAL] = {0, 0, KERNEL_C32, KERNEL_C64}},
    [WITH_INT] = {[SIGNED] = {0, KERNEL_SHORT_INT, KERNEL_INT_INT, KERNEL_LONG_INT},
                  [C_REAL] = {0, 0, KERNEL_FLOAT_INT, KERNEL_DOUBLE_INT, KERNEL_LONG_DOUBLE_INT}},
    [TWICE] = {[COUNTING] = {0, 0, KERNEL_I32_I32, KERNEL_I64_I64},
               [F_REAL] = {0, 0, KERNEL_F32_F32, KERNEL_F64_F64}},
};

/*
 * Rows behind the handles': types that functions make, of a kind and a size. The library combines
 * them, if it can: Intel MPI 2021.18's MIN on them is MAX.
 */
enum { MADE_ROW = HANDLES, MADE = 3 * COLUMNS };

/* Behind them: C's integers, by their kernel. Rejected: Fortran's as well. A library may lack some
   of their handles, and fail where it is asked about one. */
enum { INTEGER_ROW = MADE_ROW + MADE, INTEGER_ROWS = KERNEL_U64 + 1 };
_Static_assert(INTEGER_ROW + INTEGER_ROWS <= (int)PREDEFINED_ROWS,
               "predefined.h counts too few rows");

static int column_of(size_t bytes)
{
    int column = 0;

    while (column < COLUMNS - 1 && bytes > (size_t)1 << column)
        column++;
    return column;
}

/* Is a type without a handle here one of MPI_Type_create_f90_real, _complex or _integer? */
static int find_made(MPI_Datatype type, struct predefined *p)
{
    struct type_parts made;

    if (mpi_process.draft || type_parts_of(type, &made) < 0 ||
        (made.combiner != MPI_COMBINER_F90_REAL && made.combiner != MPI_COMBINER_F90_COMPLEX &&
         made.combiner != MPI_COMBINER_F90_INTEGER))
        return 0;
    p->kind = made.combiner == MPI_COMBINER_F90_INTEGER ? COUNTING : F_REAL;
    p->layout = made.combiner == MPI_COMBINER_F90_COMPLEX ? COMPLEX : SINGLE;
    p->row = MADE_ROW;
    return 1;
}

/* A library that lacks a type may have NULL or MPI_DATATYPE_NULL in its place. */
static int find(MPI_Datatype type, struct predefined *p)
{
    if (!type || type == MPI_DATATYPE_NULL)
        return 0;
    for (int i = 0; i < HANDLES; i++)
        if (rows[i].type == type) {
            *p = (struct predefined){.kind = rows[i].kind, .layout = rows[i].layout, .row = i};
            return 1;
        }
    *p = (struct predefined){0};
    return find_made(type, p);
}

/* row: a handle's. */
static int is_integer_of_c(int row)
{
    return rows[row].kind <= UNSIGNED && rows[row].layout == SINGLE;
}

int predefined_of(MPI_Datatype type, struct predefined *p)
{
    MPI_Count lower, extent, size;

    if (!find(type, p) || mpi.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS || lower ||
        mpi.Type_size_x(type, &size) != MPI_SUCCESS || extent < 1 || size < 1)
        return 0;
    p->extent = (size_t)extent;
    p->part = p->layout == SINGLE     ? (size_t)size
              : p->layout == WITH_INT ? (size_t)size - sizeof(int)
                                      : (size_t)size / 2;
    int column = column_of(p->part);
    if (p->row == MADE_ROW) {
        p->row += (p->kind == COUNTING ? 0 : p->layout == SINGLE ? 1 : 2) * COLUMNS + column;
        return 1;
    }
    p->kernel = (enum kernel_type)kernels[p->layout][p->kind][column];
    if (p->kernel && kernel_extent(p->kernel) != p->extent)
        p->kernel = KERNEL_NONE;
    if (p->kernel && is_integer_of_c(p->row))
        p->row = INTEGER_ROW + (int)p->kernel;
    return 1;
}

int predefined_alike(MPI_Datatype type, MPI_Datatype list[PREDEFINED_ALIKE])
{
    struct predefined p, other;
    int n = 0;

    if (!predefined_of(type, &p) || p.row < INTEGER_ROW) {
        list[n++] = type;
        return n;
    }
    for (int i = 0; i < HANDLES && n < PREDEFINED_ALIKE; i++)
        if (is_integer_of_c(i) && predefined_of(rows[i].type, &other) && other.row == p.row)
            list[n++] = rows[i].type;
    return n;
}
