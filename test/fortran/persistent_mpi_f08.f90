! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives through `use mpi_f08`.
program persistent_mpi_f08
  use mpi_f08
  implicit none
  character(*), parameter :: name = 'persistent_mpi_f08'
  type(MPI_Request) :: request(3)
  include 'three_calls.inc'
contains
  include 'persistent.inc'
end program
