/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a communicator's state. Calls under way go first: they use all others. */
#include "shim/mpi/api/foreign.h"
#include "shim/mpi/api/outlay.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/alltoallv_matrix.h"
#include "shim/mpi/choose/sizes.h"
#include "shim/mpi/collectives/neighbors.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/later/channel.h"
#include "shim/mpi/later/pending.h"

const struct comm_part comm_parts[] = {
    {.drain = pending_drain, .drop = pending_drain},
    {.drop = channels_leave},
    {.open = matrix_open, .close = matrix_close, .drop = matrix_drop, .renew = matrix_forget},
    {.drop = mpi_comm_forget_plans},
    {.open = sizes_open, .close = sizes_close},
    {.open = neighbors_open, .close = neighbors_close},
    {.open = outlay_open, .close = outlay_close},
    {.open = foreign_open, .close = foreign_close},
    {.close = refused_close},
};
const int comm_parts_n = sizeof comm_parts / sizeof *comm_parts;
