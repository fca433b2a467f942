! SPDX-License-Identifier: BSD-3-Clause
!
! Allreduce of every type that everyday Fortran names, by its plain name and by its size, each with an
! operation that it is used with. Each is called `calls` times, and one of them in place.
!
! The bindings reach the C library alike for all collectives, so one is enough here (gather.inc).
! Of LOGICAL, the library itself serves the first call.
program reduce_types
  use mpi_f08
  implicit none
  character(*), parameter :: name = 'reduce_types'
  integer, parameter :: n = 6, calls = 3
  integer, parameter :: i1 = selected_int_kind(2), i2 = selected_int_kind(4), i4 = selected_int_kind(9), &
    i8 = selected_int_kind(18), r4 = kind(1.0), r8 = kind(1d0)
  integer :: rank, ranks, ierr, i, c, wrong, wrong_all, rerouted
  integer :: whole(n), whole_sum(n)
  integer(i1) :: one(n), one_max(n)
  integer(i2) :: two(n), two_max(n)
  integer(i4) :: four(n), four_sum(n)
  integer(i8) :: eight(n), eight_sum(n)
  real :: single(n), single_sum(n)
  double precision :: double(n), double_sum(n)
  real(r4) :: real4(n), real4_sum(n)
  real(r8) :: real8(n), real8_sum(n), real8_max(n)
  complex :: pair(n), pair_sum(n)
  complex(r8) :: pair16(n), pair16_sum(n)
  logical :: truth(n), truth_and(n)
  real :: placed(2*n), placed_max(2*n)
  double precision :: placed8(2*n), placed8_min(2*n)
  integer :: placed_whole(2*n), placed_whole_max(2*n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  whole = [(100*rank + i, i=1, n)]
  one = int(whole/10, i1)
  two = int(whole, i2)
  four = whole
  eight = whole
  single = real(whole)
  double = whole
  real4 = real(whole, r4)
  real8 = whole
  pair = cmplx(whole, -whole)
  pair16 = cmplx(whole, -whole, r8)
  truth = [(modulo(i, 2) == 0 .or. rank /= i, i=0, n - 1)]
  placed = [((/real(modulo(rank + i, ranks)), real(rank)/), i=1, n)]
  placed8 = placed
  placed_whole = int(placed)
  wrong = 0
  rerouted = 0
  do c = 1, calls
    call MPI_Allreduce(whole, whole_sum, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(whole_sum == total(whole)))
    call MPI_Allreduce(one, one_max, n, MPI_INTEGER1, MPI_MAX, MPI_COMM_WORLD, ierr)
    call judge(1, all(one_max == one + 10*(ranks - 1 - rank)))
    call MPI_Allreduce(two, two_max, n, MPI_INTEGER2, MPI_MAX, MPI_COMM_WORLD, ierr)
    call judge(1, all(two_max == two + 100*(ranks - 1 - rank)))
    call MPI_Allreduce(four, four_sum, n, MPI_INTEGER4, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(four_sum == total(whole)))
    call MPI_Allreduce(eight, eight_sum, n, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(eight_sum == total(whole)))
    call MPI_Allreduce(single, single_sum, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(single_sum) == total(whole)))
    call MPI_Allreduce(double, double_sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(double_sum) == total(whole)))
    call MPI_Allreduce(real4, real4_sum, n, MPI_REAL4, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real4_sum) == total(whole)))
    call MPI_Allreduce(real8, real8_sum, n, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real8_sum) == total(whole)))
    call MPI_Allreduce(real8, real8_max, n, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real8_max) == whole + 100*(ranks - 1 - rank)))
    call MPI_Allreduce(pair, pair_sum, n, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real(pair_sum)) == total(whole) .and. int(aimag(pair_sum)) == -total(whole)))
    call MPI_Allreduce(pair, pair_sum, n, MPI_COMPLEX8, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real(pair_sum)) == total(whole) .and. int(aimag(pair_sum)) == -total(whole)))
    call MPI_Allreduce(pair16, pair16_sum, n, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real(pair16_sum)) == total(whole) .and. int(aimag(pair16_sum)) == -total(whole)))
    call MPI_Allreduce(pair16, pair16_sum, n, MPI_COMPLEX16, MPI_SUM, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(real(pair16_sum)) == total(whole) .and. int(aimag(pair16_sum)) == -total(whole)))
    call MPI_Allreduce(placed, placed_max, n, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(placed_max(1::2)) == ranks - 1 .and. int(placed_max(2::2)) == home(ranks - 1)))
    call MPI_Allreduce(placed8, placed8_min, n, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, ierr)
    call judge(1, all(int(placed8_min(1::2)) == 0 .and. int(placed8_min(2::2)) == home(0)))
    call MPI_Allreduce(placed_whole, placed_whole_max, n, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
    call judge(1, all(placed_whole_max(1::2) == ranks - 1 .and. placed_whole_max(2::2) == home(ranks - 1)))
    call MPI_Allreduce(truth, truth_and, n, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    call judge(merge(1, 0, c > 1), all(truth_and .eqv. [(modulo(i, 2) == 0 .or. i >= ranks, i=0, n - 1)]))
  end do
  real8_sum = real8
  call MPI_Allreduce(MPI_IN_PLACE, real8_sum, n, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)
  call judge(1, all(int(real8_sum) == total(whole)))
  call MPI_Allreduce(wrong, wrong_all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call judge(1, .true.)
  if (rank == 0) then
    if (wrong_all == 0) then
      print '(a,i0,a,i0)', name//': right on ', ranks, ' ranks, to reroute: allreduce=', rerouted*ranks
    else
      print '(a,i0,a)', name//': WRONG, ', wrong_all, ' calls'
    end if
  end if
  call MPI_Finalize(ierr)

contains

  ! Note a call that is `counted` among those to reroute, and whether it was right.
  subroutine judge(counted, right)
    integer, intent(in) :: counted
    logical, intent(in) :: right

    rerouted = rerouted + counted
    if (.not. right) wrong = wrong + 1
  end subroutine

  ! The sum over all ranks of what this one has.
  elemental integer function total(mine)
    integer, intent(in) :: mine

    total = ranks*(mine - 100*rank) + 100*ranks*(ranks - 1)/2
  end function

  ! For each element, the rank whose value is that.
  function home(value) result(at)
    integer, intent(in) :: value
    integer :: at(n), k

    at = [(modulo(value - k, ranks), k=1, n)]
  end function
end program
