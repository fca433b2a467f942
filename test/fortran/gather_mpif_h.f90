! SPDX-License-Identifier: BSD-3-Clause
! Allgather and Allgatherv through mpif.h.
program gather_mpif_h
  implicit none
  include 'mpif.h'
  character(*), parameter :: name = 'gather_mpif_h'
  include 'gather.inc'
end program
