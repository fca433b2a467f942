/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of a communicator, each a number. */
#include "shim/mpi/first.h"

#include "shim/decide/count.h"
#include "shim/mpi/attribute.h"
#include "shim/mpi/process.h"
#include "shim/mpi/quiet.h"

/* A bit per collective, and those of first_want_meeting and first_meeting_is_wanted. */
enum { WANTED = COLL_COUNT, ASKED };
_Static_assert(ASKED < 8 * sizeof(uintptr_t), "a bit per collective is an attribute's value");

int first_wanted; /* communicators; any thread counts */

static int keyval = MPI_KEYVAL_INVALID, few_keyval = MPI_KEYVAL_INVALID,
           patient_keyval = MPI_KEYVAL_INVALID;

static int *const keyvals[] = {&keyval, &few_keyval, &patient_keyval};
enum { KEYVALS = sizeof keyvals / sizeof *keyvals };

static int is_asked_for(uintptr_t value)
{
    return (value >> WANTED & 1) && !(value >> ASKED & 1);
}

/* A communicator whose ranks never met is counted no longer. */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    if (!attribute_replacing && is_asked_for(attribute_number_of(value)))
        __atomic_sub_fetch(&first_wanted, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

int first_open(void)
{
    int rc = mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);

    for (int i = 1; i < KEYVALS && rc == MPI_SUCCESS; i++)
        rc = mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyvals[i],
                                    NULL);
    return rc;
}

void first_close(void)
{
    for (int i = 0; i < KEYVALS; i++)
        if (*keyvals[i] != MPI_KEYVAL_INVALID)
            mpi.Comm_free_keyval(keyvals[i]);
}

int first_few(MPI_Comm comm, uint32_t few)
{
    uintptr_t calls = attribute_number(comm, few_keyval);

    if (calls >= few)
        return 0;
    attribute_keep_number(comm, few_keyval, calls + 1);
    return 1;
}

/* The value is the number of calls, and above it the milliseconds of the first. */
enum { COUNT_BITS = 12, OVER = (1 << COUNT_BITS) - 1, PATIENCE_MS = 1000 };
_Static_assert((int)FIRST_PATIENT < (int)OVER, "a count fits");

static uint64_t milliseconds(void)
{
    return (uint64_t)(count_now() * 1e3);
}

static int is_late_anywhere(MPI_Comm comm, uint64_t began)
{
    int late = milliseconds() - began > PATIENCE_MS, any = 0;
    struct quiet quiet;

    quiet_begin(&quiet, comm);
    int rc = mpi.Allreduce(&late, &any, 1, MPI_INT, MPI_MAX, comm);
    quiet_end(&quiet);
    return rc == MPI_SUCCESS && any;
}

int first_patient(MPI_Comm comm)
{
    uint64_t known = attribute_number(comm, patient_keyval), n = known & OVER;
    uint64_t began = n ? known >> COUNT_BITS : milliseconds();

    if (n >= FIRST_PATIENT)
        return 0;
    n++;
    if ((n == 8 || n == 64 || n == 512) && is_late_anywhere(comm, began))
        n = OVER;
    attribute_keep_number(comm, patient_keyval, (uintptr_t)(began << COUNT_BITS | n));
    return n < OVER;
}

/* Set a bit of the communicator's value. needs: only if that one is set. Returns 1 if it was not
   set before. */
static int set_bit(MPI_Comm comm, int number, uintptr_t needs)
{
    uintptr_t seen = attribute_number(comm, keyval), bit = (uintptr_t)1 << number;

    if (seen & bit || (seen & needs) != needs)
        return 0;
    attribute_keep_number(comm, keyval, seen | bit);
    return 1;
}

int first_call(MPI_Comm comm, enum plan_collective collective)
{
    return set_bit(comm, collective, 0);
}

void first_want_meeting(MPI_Comm comm)
{
    if (set_bit(comm, WANTED, 0) && is_asked_for(attribute_number(comm, keyval)))
        __atomic_add_fetch(&first_wanted, 1, __ATOMIC_RELAXED);
}

int first_meeting_is_wanted(MPI_Comm comm)
{
    if (!set_bit(comm, ASKED, (uintptr_t)1 << WANTED))
        return 0;
    __atomic_sub_fetch(&first_wanted, 1, __ATOMIC_RELAXED);
    return 1;
}
