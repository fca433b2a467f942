/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of the attribute is a bit per collective, so remembering needs no memory of ours. */
#include "shim/mpi/first.h"

#include <stdint.h>
#include <string.h>

#include "shim/mpi/process.h"

_Static_assert(COLL_COUNT <= 8 * sizeof(uintptr_t), "a bit per collective is an attribute's value");

static int keyval = MPI_KEYVAL_INVALID;

int first_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
}

void first_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

int first_call(MPI_Comm comm, enum plan_collective collective)
{
    uintptr_t seen = 0, bit = (uintptr_t)1 << collective;
    void *value = NULL;
    int found = 0;

    if (mpi.Comm_get_attr(comm, keyval, &value, &found) == MPI_SUCCESS && found)
        memcpy(&seen, &value, sizeof seen);
    if (seen & bit)
        return 0;
    seen |= bit;
    memcpy(&value, &seen, sizeof seen);
    mpi.Comm_set_attr(comm, keyval, value); /* comm.c needs attributes to work, too */
    return 1;
}
