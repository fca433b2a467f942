/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Through MPI_T control variables. The two libraries read them at different times: Open MPI when
 * a communicator is made, MPICH at each call. So a variable is set both while the algorithm's
 * communicator is duplicated and around each of its calls, and nowhere is the library's name asked.
 *
 * Open MPI registers a few variables as constant although the code reads them like the others
 * (4.1.4: coll_tuned_allgatherv_algorithm, coll_han_priority). Those are written through the
 * setter its core exports; without it, they are reported as not to be turned.
 */
#define _GNU_SOURCE
#include "algorithms.h"
#include "knob_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALGORITHMS = 32 };

void bench_algorithms_prepare(void)
{
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
}

/* Once, not per collective: MPICH 4.0.2 finds no variable by name after a second initialisation. */
void bench_algorithms_begin(void)
{
    int provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}

void bench_algorithms_end(void)
{
    MPI_T_finalize(); /* releases the variables' handles too */
}

/* Open MPI's exported setter, for variables that MPI_T may not write. */
static void write_constant(int index, int value)
{
    enum { FLAG_SETTABLE = 4, SOURCE_SET = 4 }; /* opal/mca/base/mca_base_var.h */
    int (*set_flag)(int, int, _Bool);
    int (*set_value)(int, const void *, size_t, int, const char *);

    set_flag = (__typeof__(set_flag))dlsym(RTLD_DEFAULT, "mca_base_var_set_flag");
    set_value = (__typeof__(set_value))dlsym(RTLD_DEFAULT, "mca_base_var_set_value");
    if (set_flag && set_value && set_flag(index, FLAG_SETTABLE, 1) == 0)
        set_value(index, &value, sizeof(value), SOURCE_SET, NULL);
}

static int turn_one(MPI_T_cvar_handle cvar, int index, int value)
{
    int now = value + 1;

    if (MPI_T_cvar_write(cvar, &value) != MPI_SUCCESS)
        write_constant(index, value);
    MPI_T_cvar_read(cvar, &now);
    return now == value ? 0 : -EPERM;
}

static int turn(const struct bench_algorithm *a, int value, int also_value)
{
    int rc = turn_one(a->cvar, a->index, value);

    if (!rc && a->also_index >= 0)
        rc = turn_one(a->also, a->also_index, also_value);
    return rc;
}

void bench_algorithm_force(const struct bench_algorithm *algorithm)
{
    if (algorithm->index >= 0)
        turn(algorithm, algorithm->value, algorithm->also_value);
}

void bench_algorithm_release(const struct bench_algorithm *algorithm)
{
    if (algorithm->index >= 0)
        turn(algorithm, algorithm->usual, algorithm->also_usual);
}

static void spell_flag(const char *cvar, const char *name, int value, char *flag, size_t length)
{
    static const char tuned[] = "coll_tuned_";

    if (strncmp(cvar, "MPIR_CVAR_", 10) == 0)
        snprintf(flag, length, "-genv %s %s", cvar, name);
    else
        snprintf(flag, length, "%s--mca %s %d",
                 strncmp(cvar, tuned, sizeof(tuned) - 1) ? ""
                                                         : "--mca coll_tuned_use_dynamic_rules 1 ",
                 cvar, value);
}

/* Append one algorithm: its own communicator, made while the variable stands at its value. */
static int append(const struct bench_mpi *mpi, MPI_Comm comm, const struct bench_algorithm *like,
                  const char *cvar, const char *name, int value, const char *also,
                  struct bench_algorithms *set)
{
    struct bench_algorithm *a = &set->list[set->n];

    if (set->n == MOST_ALGORITHMS)
        return 0;
    *a = *like;
    a->value = value;
    snprintf(a->name, sizeof(a->name), "%s", name);
    if (cvar) {
        spell_flag(cvar, name, value, a->flag, sizeof(a->flag));
        if (like->also_index >= 0)
            snprintf(a->flag + strlen(a->flag), sizeof(a->flag) - strlen(a->flag), " --mca %s %d",
                     also, a->also_value);
        if (turn(a, value, a->also_value))
            return -EPERM;
    }
    mpi->Comm_dup(comm, &a->comm);
    MPI_Comm_set_errhandler(a->comm, MPI_ERRORS_RETURN);
    bench_algorithm_release(a);
    set->n++;
    return 0;
}

static int append_knob(const struct bench_mpi *mpi, MPI_Comm comm, const struct bench_knob *knob,
                       struct bench_algorithms *set)
{
    struct bench_algorithm like = {.index = -1, .also_index = -1};
    struct bench_knob_names values;
    int one, rc = 0;

    if (MPI_T_cvar_get_index(knob->cvar, &like.index) != MPI_SUCCESS)
        return -ENOENT; /* another library's */
    if (MPI_T_cvar_handle_alloc(like.index, NULL, &like.cvar, &one) != MPI_SUCCESS || one != 1)
        return -EPERM;
    if (MPI_T_cvar_read(like.cvar, &like.usual) != MPI_SUCCESS)
        return -EPERM;
    if (knob->also) {
        if (MPI_T_cvar_get_index(knob->also, &like.also_index) != MPI_SUCCESS)
            return -ENOENT;
        if (MPI_T_cvar_handle_alloc(like.also_index, NULL, &like.also, &one) != MPI_SUCCESS ||
            one != 1 || MPI_T_cvar_read(like.also, &like.also_usual) != MPI_SUCCESS)
            return -EPERM;
        like.also_value = knob->also_value;
    }
    if (knob->name)
        return append(mpi, comm, &like, knob->cvar, knob->name, knob->value, knob->also, set);
    bench_knob_names_get(like.index, &values);
    for (int i = 0; i < values.n && !rc; i++) {
        if (values.value[i] != like.usual)
            rc = append(mpi, comm, &like, knob->cvar, values.name[i], values.value[i], NULL, set);
    }
    return values.n ? rc : -EBADMSG;
}

int bench_algorithms_open(const struct bench_mpi *mpi, MPI_Comm comm, int nodes,
                          const struct bench_knob *knobs, struct bench_algorithms *set, char *notes,
                          size_t notes_len)
{
    struct bench_algorithm usual = {.index = -1, .also_index = -1};
    int known = 0;

    notes[0] = '\0';
    set->n = 0;
    set->list = calloc(MOST_ALGORITHMS, sizeof(*set->list));
    if (!set->list)
        return -ENOMEM;
    append(mpi, comm, &usual, NULL, "auto", 0, NULL, set);
    for (const struct bench_knob *k = knobs; k->cvar; k++) {
        size_t at = strlen(notes);
        int rc = nodes < k->nodes ? -ENOENT : append_knob(mpi, comm, k, set);

        known += rc != -ENOENT;
        if (rc && rc != -ENOENT)
            snprintf(notes + at, notes_len - at, "%s cannot be %s\n", k->cvar,
                     rc == -EBADMSG ? "enumerated" : "changed at run time");
    }
    if (!known && knobs->cvar)
        snprintf(notes, notes_len, "it has no control variable that is known here\n");
    return 0;
}

void bench_algorithms_close(const struct bench_mpi *mpi, struct bench_algorithms *set)
{
    for (int i = 0; i < set->n; i++)
        mpi->Comm_free(&set->list[i].comm);
    free(set->list);
    set->list = NULL;
    set->n = 0;
}
