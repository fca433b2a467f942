! SPDX-License-Identifier: BSD-3-Clause
! Allgather and Allgatherv through `use mpi_f08`.
program gather_mpi_f08
  use mpi_f08
  implicit none
  character(*), parameter :: name = 'gather_mpi_f08'
  include 'gather.inc'
end program
