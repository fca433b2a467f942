/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of bcast.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Bcast, native_Ibcast)(const struct mpi_call *call)
{
    const struct bcast_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Bcast, Ibcast)(a->buffer, (COUNT)a->count, a->type, a->root,
                                               call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Bcast, mpi_wrap_Ibcast)(P_BCAST, int root, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_BCAST, count_rooted(count, root), type, MPI_COMM_NULL))
        return mpi_library.FUNCTION(Bcast, Ibcast)(A_BCAST, root, comm FORM_ARGUMENTS);
    return bcast(&(struct bcast_arguments){.buffer = A_BCAST,
                                           .root = root,
                                           .comm = comm,
                                           .form = FORM_HERE(native_Bcast, native_Ibcast)});
}
