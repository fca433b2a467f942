! SPDX-License-Identifier: BSD-3-Clause
!
! An unmodified Fortran program: one Allgather. Open MPI's Fortran calls the PMPI_ name of the
! C function, MPICH's the MPI_ name; the preload must see both. -DF08 for the mpi_f08 module.
program app
#ifdef F08
    use mpi_f08
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer :: rank, ranks, error, i
    integer :: got(64)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    got = -1
    got(rank + 1) = 7 * rank + 1
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, got, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    if (rank == 0) then
        if (all(got(1:ranks) == [(7 * i + 1, i = 0, ranks - 1)])) then
            print '(a,i0)', 'app: right on ', ranks
        else
            print '(a)', 'app: wrong'
        end if
    end if
    call MPI_Finalize(error)
end program app
