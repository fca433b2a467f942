/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of MPI 4.0 with large counts, for an mpi.h that has none: weak, as programs ask
 * for them that serve any library. Under the preload they are there.
 */
#ifndef COLLSHIM_TEST_MPI_LARGE_COUNTS_H
#define COLLSHIM_TEST_MPI_LARGE_COUNTS_H

#include <mpi.h>

#if MPI_VERSION >= 4
static inline int large_counts(void)
{
    return 1;
}
#else
#define WEAK(name, ...) extern int name(__VA_ARGS__) __attribute__((weak));

WEAK(MPI_Allgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
     MPI_Comm)
WEAK(MPI_Allgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, MPI_Comm)
WEAK(MPI_Allreduce_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
WEAK(MPI_Reduce_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm)
WEAK(MPI_Reduce_scatter_c, const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm)
WEAK(MPI_Reduce_scatter_block_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
WEAK(MPI_Scan_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
WEAK(MPI_Exscan_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
WEAK(MPI_Bcast_c, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
WEAK(MPI_Gather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
     MPI_Comm)
WEAK(MPI_Gatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, int, MPI_Comm)
WEAK(MPI_Scatter_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
     MPI_Comm)
WEAK(MPI_Scatterv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
     MPI_Count, MPI_Datatype, int, MPI_Comm)
WEAK(MPI_Alltoall_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
     MPI_Comm)
WEAK(MPI_Alltoallv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm)
WEAK(MPI_Alltoallw_c, const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
     void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm)
WEAK(MPI_Iallgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
     MPI_Comm, MPI_Request *)
WEAK(MPI_Iallgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Iallreduce_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
     MPI_Request *)
WEAK(MPI_Ireduce_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm,
     MPI_Request *)
WEAK(MPI_Ireduce_scatter_c, const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm,
     MPI_Request *)
WEAK(MPI_Ireduce_scatter_block_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
     MPI_Request *)
WEAK(MPI_Iscan_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *)
WEAK(MPI_Iexscan_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *)
WEAK(MPI_Ibcast_c, void *, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request *)
WEAK(MPI_Igather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
     MPI_Comm, MPI_Request *)
WEAK(MPI_Igatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, int, MPI_Comm, MPI_Request *)
WEAK(MPI_Iscatter_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
     MPI_Comm, MPI_Request *)
WEAK(MPI_Iscatterv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
     MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request *)
WEAK(MPI_Ialltoall_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
     MPI_Comm, MPI_Request *)
WEAK(MPI_Ialltoallv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Ialltoallw_c, const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
     void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm, MPI_Request *)
WEAK(MPI_Neighbor_allgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
     MPI_Datatype, MPI_Comm)
WEAK(MPI_Neighbor_allgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, MPI_Comm)
WEAK(MPI_Neighbor_alltoall_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
     MPI_Datatype, MPI_Comm)
WEAK(MPI_Neighbor_alltoallv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
     void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm)
WEAK(MPI_Neighbor_alltoallw_c, const void *, const MPI_Count *, const MPI_Aint *,
     const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
     MPI_Comm)
WEAK(MPI_Ineighbor_allgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
     MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Ineighbor_allgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
     const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Ineighbor_alltoall_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
     MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Ineighbor_alltoallv_c, const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
     void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *)
WEAK(MPI_Ineighbor_alltoallw_c, const void *, const MPI_Count *, const MPI_Aint *,
     const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
     MPI_Comm, MPI_Request *)

static inline int large_counts(void)
{
    return MPI_Allreduce_c != NULL;
}
#endif

#endif
