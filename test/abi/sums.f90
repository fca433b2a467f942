! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran's calls of the standard ABI, whose handles are the numbers of C's: no module or include file of a
! library is needed. Prints `sums: right` on rank 0 if all sums are.
program sums
  implicit none
  integer, parameter :: comm_world = int(z'101'), op_sum = int(z'21'), real8 = int(z'2da')
  integer, parameter :: n = 30000
  real(8) :: x(n), y(n)
  integer :: rank, ranks, i, wrong, ierr
  external :: mpi_init, mpi_comm_rank, mpi_comm_size, mpi_allreduce, mpi_finalize

  call mpi_init(ierr)
  call mpi_comm_rank(comm_world, rank, ierr)
  call mpi_comm_size(comm_world, ranks, ierr)
  wrong = 0
  do i = 1, 4
    x = rank + i
    y = 0
    call mpi_allreduce(x, y, n, real8, op_sum, comm_world, ierr)
    wrong = wrong + count(y /= ranks*(ranks - 1)/2 + ranks*i)
  end do
  if (rank == 0) print '(2a)', 'sums: ', merge('right', 'WRONG', wrong == 0)
  call mpi_finalize(ierr)
end program
