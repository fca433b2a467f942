/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of bcast.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Bcast, bcast))(const struct mpi_call *call)
{
    const struct bcast_arguments *a = call->arguments;

    return LIBRARY(FORM(Bcast, bcast))(a->buffer, (COUNT)a->count, a->type, a->root,
                                       call->comm FORM_GIVEN);
}

int WRAP(FORM(Bcast, bcast))(void *buffer, COUNT count, MPI_Datatype type, int root,
                             MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_BCAST, count_rooted(count, root), type, MPI_COMM_NULL))
        return LIBRARY(FORM(Bcast, bcast))(buffer, count, type, root, comm FORM_ARGUMENTS);
    return bcast(&(struct bcast_arguments){.buffer = buffer,
                                           .count = count,
                                           .type = type,
                                           .root = root,
                                           .comm = comm,
                                           .form = FORM_HERE(Bcast, bcast)});
}
