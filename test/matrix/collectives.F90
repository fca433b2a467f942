! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran's calls, in each of its bindings, with MPI_REAL8 and MPI_IN_PLACE: what everyday programs
! use. -DWITHOUT_F08 leaves `use mpi_f08` out, whose symbols depend on the compiler of the library.
module bindings
contains

  subroutine by_mpif_h(wrong, large)
    implicit none
    include 'mpif.h'
#define COMMUNICATOR integer
#include "collectives.inc"
  end subroutine

  subroutine by_use_mpi(wrong, large)
    use mpi
    implicit none
#include "collectives.inc"
  end subroutine

#ifndef WITHOUT_F08
  subroutine by_use_mpi_f08(wrong, large)
    use mpi_f08
    implicit none
#undef COMMUNICATOR
#define COMMUNICATOR type(MPI_Comm)
#include "collectives.inc"
  end subroutine
#endif
end module

program collectives
  use mpi
  use bindings
  implicit none
  integer :: mine(2), all(2), rank, ranks, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  mine = 0
  call by_mpif_h(mine(1), mine(2))
  call by_use_mpi(mine(1), mine(2))
#ifndef WITHOUT_F08
  call by_use_mpi_f08(mine(1), mine(2))
#endif
  call MPI_Allreduce(mine, all, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(3a,i0,a,10(a,i0))', 'collectives: ', merge('right', 'WRONG', all(1) == 0), &
    ' on ', ranks, ' ranks, large:', ' allreduce=', 2*all(2), ' reduce=', all(2), ' scan=', all(2), ' exscan=', all(2), &
    ' reduce_scatter_block=', all(2), ' bcast=', all(2), ' scatter=', all(2), ' allgather=', all(2), &
    ' gather=', all(2), ' alltoall=', all(2)
  call MPI_Finalize(ierr)
  if (all(1) /= 0) error stop 1
end program
