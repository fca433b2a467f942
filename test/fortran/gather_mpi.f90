! SPDX-License-Identifier: BSD-3-Clause
! Allgather and Allgatherv through `use mpi`.
program gather_mpi
  use mpi
  implicit none
  character(*), parameter :: name = 'gather_mpi'
  include 'gather.inc'
end program
