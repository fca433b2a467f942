! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives through mpif.h.
program persistent_mpif_h
  implicit none
  include 'mpif.h'
  character(*), parameter :: name = 'persistent_mpif_h'
  integer :: request(3)
  include 'three_calls.inc'
contains
  include 'persistent.inc'
end program
