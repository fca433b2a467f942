! SPDX-License-Identifier: BSD-3-Clause
! Adds vectors of all ranks, 100 times. The argument is the number of elements: total [262144]
program total
  use mpi
  implicit none
  integer :: n, step, rank, error
  character(len=16) :: word
  double precision, allocatable :: mine(:), sum(:)

  call get_command_argument(1, word)
  n = 262144
  if (len_trim(word) > 0) read (word, *) n
  allocate (mine(n), sum(n))
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  mine = rank + 1
  do step = 1, 100
    call MPI_Allreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  if (rank == 0) print '(a, f0.1)', 'total: ', sum(n)
  call MPI_Finalize(error)
end program total
