/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/young.h"

#include "shim/mpi/attribute.h"
#include "shim/mpi/process.h"

/* An attribute's value: calls, the age to wait for above them, and whether the ranks have met. */
enum { AGE_SHIFT = 15, MOST = (1u << AGE_SHIFT) - 1, MET = 1u << 30 };

static int keyval = MPI_KEYVAL_INVALID;
static uint32_t ended, calls_of[YOUNG_ENDED]; /* any thread writes; the oldest goes first */

static uint32_t get(MPI_Comm comm)
{
    return (uint32_t)attribute_number(comm, keyval);
}

static void set(MPI_Comm comm, uint32_t of)
{
    attribute_keep_number(comm, keyval, of);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    uint32_t of = (uint32_t)attribute_number_of(value);
    if (!attribute_replacing && !(of & MET))
        young_ended(of & MOST);
    return MPI_SUCCESS;
}

int young_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
}

void young_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

void young_ended(uint32_t calls)
{
    uint32_t i = __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);

    __atomic_store_n(&calls_of[i % YOUNG_ENDED], calls, __ATOMIC_RELAXED);
}

uint32_t young_age_here(void)
{
    uint32_t most = 0;

    if (__atomic_load_n(&ended, __ATOMIC_RELAXED) < YOUNG_ENDED)
        return 0;
    for (int i = 0; i < YOUNG_ENDED; i++) {
        uint32_t calls = __atomic_load_n(&calls_of[i], __ATOMIC_RELAXED);

        most = calls > most ? calls : most;
    }
    return most < YOUNG_FEW ? 2 * most : 0;
}

int young_call(MPI_Comm comm, struct young *young, int may_wait)
{
    uint32_t value = get(comm), calls = value & MOST, age = value >> AGE_SHIFT & MOST;

    calls += calls < MOST;
    set(comm, calls | age << AGE_SHIFT);
    *young = (struct young){
        .calls = calls, .wait = age || !may_wait ? 0 : young_age_here(), .why = REASON_YOUNG};
    return calls >= age;
}

void young_waits(MPI_Comm comm, uint32_t until)
{
    set(comm, (get(comm) & MOST) | (until < MOST ? until : MOST) << AGE_SHIFT);
}

uint32_t young_met(MPI_Comm comm)
{
    uint32_t calls = get(comm) & MOST;

    set(comm, MET);
    return calls;
}
