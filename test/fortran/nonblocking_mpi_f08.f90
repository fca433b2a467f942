! SPDX-License-Identifier: BSD-3-Clause
! Nonblocking collectives through `use mpi_f08`.
program nonblocking_mpi_f08
  use mpi_f08
  implicit none
  character(*), parameter :: name = 'nonblocking_mpi_f08'
  type(MPI_Request) :: request(3)
  include 'three_calls.inc'
contains
  include 'nonblocking.inc'
end program
