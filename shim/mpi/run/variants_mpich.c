/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH reads MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM at each call. So it is set around the call, on
 * the private communicator. Inside the call the library makes progress for other operations too.
 * Nonblocking collectives have chosen their algorithm when they began, by other variables.
 * Callbacks must not begin a blocking collective.
 *
 * MPIR_CVAR_<COLLECTIVE>_DEVICE_COLLECTIVE is cleared around the call too. Otherwise the device may
 * pass by the algorithm: MPICH 5 takes shared memory of its own from a communicator's sixth call on
 * (MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD).
 *
 * A variable has no enumeration. Its values are numbered in the order in which its description
 * lists them, "name - Force ...", and differ between versions.
 */
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/run/variants.h"

enum { DESCRIPTION = 8192 };

static int begun; /* MPI_T has been initialised here */

/* A variable of the library, and what it was before the call that is under way. */
struct variable {
    MPI_T_cvar_handle cvar; /* owned */
    int known;
    int usual;
};
static struct {
    struct variable algorithm, device;
} rows[COLL_COUNT];
static int number[64 * VARIANT_WORDS]; /* of each variant, its value */

static int mpich_open(void *libmpi)
{
    (void)libmpi;
    return mpi.T_init_thread && mpi.T_finalize && mpi.T_cvar_get_index && mpi.T_cvar_get_info &&
           mpi.T_cvar_handle_alloc && mpi.T_cvar_handle_free && mpi.T_cvar_read &&
           mpi.T_cvar_write && !strncmp(mpi_process.library_version, "MPICH", 5);
}

/* The place of the name in the list, or -1 if it is not there, or more than once. */
static int place_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    int place = -1, n = 0;

    for (const char *dash = strstr(text, " - "); dash; dash = strstr(dash + 3, " - "), n++) {
        const char *end = dash;

        while (end > text && end[-1] == ' ')
            end--;
        if ((size_t)(end - text) < length || strncmp(end - length, name, length) != 0 ||
            (end - length > text && end[-1 - (long)length] == '_'))
            continue;
        if (place >= 0)
            return -1;
        place = n;
    }
    return place;
}

/* The integer MPIR_CVAR_<COLLECTIVE>_<WHAT>; v->usual is its value. text: its description. */
static int open_variable(struct variable *v, enum plan_collective c, const char *what,
                         char name[96], char text[DESCRIPTION])
{
    char found[96];
    int index, one = 0, length = DESCRIPTION, found_length = sizeof found, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum values;

    snprintf(name, 96, "MPIR_CVAR_%s_%s", plan_collective_name(c), what);
    for (char *at = name; *at; at++)
        *at = text_upper(*at);
    if (mpi.T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        mpi.T_cvar_get_info(index, found, &found_length, &verbosity, &type, &values, text, &length,
                            &bind, &scope) != MPI_SUCCESS ||
        type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT ||
        mpi.T_cvar_handle_alloc(index, NULL, &v->cvar, &one) != MPI_SUCCESS)
        return 0;
    v->known = 1;
    return one == 1 && mpi.T_cvar_read(v->cvar, &v->usual) == MPI_SUCCESS &&
           mpi.T_cvar_write(v->cvar, &v->usual) == MPI_SUCCESS;
}

static void close_variable(struct variable *v)
{
    if (v->known)
        mpi.T_cvar_handle_free(&v->cvar);
    v->known = 0;
}

static int set_variable(struct variable *v, int value)
{
    return mpi.T_cvar_read(v->cvar, &v->usual) == MPI_SUCCESS &&
           mpi.T_cvar_write(v->cvar, &value) == MPI_SUCCESS;
}

/* The collective's variables, if the first can be written and is not set. An older library has no
   device to pass by. text: the description of the first. */
static int find_variables(enum plan_collective c, char text[DESCRIPTION])
{
    char name[96], other[96], unused[DESCRIPTION];

    if (!open_variable(&rows[c].algorithm, c, "INTRA_ALGORITHM", name, text))
        return 0;
    if (rows[c].algorithm.usual != 0) {
        variants_say_fixed(name);
        return 0;
    }
    if (!open_variable(&rows[c].device, c, "DEVICE_COLLECTIVE", other, unused))
        close_variable(&rows[c].device);
    return 1;
}

static void mpich_offer(struct variant_set *set)
{
    char text[DESCRIPTION];
    int level = MPI_THREAD_MULTIPLE, provided;

    mpi.Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE ||
        mpi.T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    begun = 1;
    for (int c = 0; c < COLL_COUNT; c++) {
        if (!find_variables((enum plan_collective)c, text))
            continue;
        for (int i = 0; i < plan_variant_count; i++) {
            const struct plan_variant *v = &plan_variants[i];

            if (v->library != VARIANT_MPICH || (int)v->collective != c)
                continue;
            number[i] = place_of(text, plan_variant_name(v));
            if (number[i] > 0)
                variant_set_add(set, i);
        }
    }
}

static void mpich_close(void)
{
    for (int c = 0; c < COLL_COUNT; c++) {
        close_variable(&rows[c].algorithm);
        close_variable(&rows[c].device);
    }
    if (begun)
        mpi.T_finalize();
    begun = 0;
}

static int mpich_call_begin(const struct plan_variant *v)
{
    struct variable *algorithm = &rows[v->collective].algorithm;
    struct variable *device = &rows[v->collective].device;

    if (!set_variable(algorithm, number[plan_variant_index(v)]))
        return -1;
    if (device->known && !set_variable(device, 0)) {
        mpi.T_cvar_write(algorithm->cvar, &algorithm->usual);
        return -1;
    }
    return 0;
}

static void mpich_call_end(const struct plan_variant *v)
{
    struct variable *algorithm = &rows[v->collective].algorithm;
    struct variable *device = &rows[v->collective].device;

    mpi.T_cvar_write(algorithm->cvar, &algorithm->usual);
    if (device->known)
        mpi.T_cvar_write(device->cvar, &device->usual);
}

const struct variant_way variants_mpich = {.library = VARIANT_MPICH,
                                           .open = mpich_open,
                                           .offer = mpich_offer,
                                           .close = mpich_close,
                                           .call_begin = mpich_call_begin,
                                           .call_end = mpich_call_end};
