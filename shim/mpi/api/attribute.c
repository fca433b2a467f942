/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/attribute.h"

#include <stddef.h>
#include <string.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/freeing.h"

static unsigned long gone; /* attributes, in any thread */

void attribute_gone(void)
{
    __atomic_add_fetch(&gone, 1, __ATOMIC_RELEASE);
}

/* NULL: there is none. */
static void *get(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int found = 0;

    return !freeing_is(comm) && mpi.Comm_get_attr(comm, keyval, &value, &found) == MPI_SUCCESS &&
                   found
               ? value
               : NULL;
}

void *attribute_last(MPI_Comm comm, const struct attribute_seen *last)
{
    return last->comm == comm && last->gone == __atomic_load_n(&gone, __ATOMIC_ACQUIRE)
               ? last->value
               : NULL;
}

void *attribute_find(MPI_Comm comm, int keyval, struct attribute_seen *last)
{
    unsigned long now = __atomic_load_n(&gone, __ATOMIC_ACQUIRE);
    void *value = attribute_last(comm, last);

    if (value)
        return value;
    value = get(comm, keyval);
    if (value)
        *last = (struct attribute_seen){comm, now, value};
    return value;
}

int attribute_set(MPI_Comm comm, int keyval, void *value)
{
    return !freeing_is(comm) && mpi.Comm_set_attr(comm, keyval, value) == MPI_SUCCESS;
}

uintptr_t attribute_number_of(void *value)
{
    uintptr_t number;

    memcpy(&number, &value, sizeof number);
    return number;
}

uintptr_t attribute_number(MPI_Comm comm, int keyval)
{
    return attribute_number_of(get(comm, keyval));
}

int attribute_keep_number(MPI_Comm comm, int keyval, uintptr_t number)
{
    void *value;

    memcpy(&value, &number, sizeof value);
    attribute_replacing = 1;
    int kept = attribute_set(comm, keyval, value);
    attribute_replacing = 0;
    return kept;
}
