! SPDX-License-Identifier: BSD-3-Clause
! Nonblocking collectives through mpif.h.
program nonblocking_mpif_h
  implicit none
  include 'mpif.h'
  character(*), parameter :: name = 'nonblocking_mpif_h'
  integer :: request(3)
  include 'three_calls.inc'
contains
  include 'nonblocking.inc'
end program
