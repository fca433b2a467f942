/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A template of all forms of a collective: the file that the macro TEMPLATE names is included once
 * for each, blocking, nonblocking and persistent, with int counts and with large ones. It defines
 * the library's function, called as mpi_call.native, and the wrapper. Its parameters: width_int.h,
 * and
 *
 *   FORM(Name, Iname)      the function's name: one of the two, or Name_init
 *   FUNCTION(Name, Iname)  the same in its width: behind large counts stands _c
 *   FORM_PARAMETERS        what its parameters have behind the blocking one's,
 *   FORM_ARGUMENTS         its arguments in the wrapper,
 *   FORM_GIVEN             and in the native function, with `a` and `call`
 *   FORM_SMALL(collective, count, type, comm)
 *                          does one look show that the wrapper's call is the library's? As
 *                          mpi_gate_passes and nonblocking_passes
 *   FORM_PASSES(passes)    is the wrapper's call the library's? passes: of a nonblocking one that
 *                          has a request
 *   FORM_HERE(Name, Iname) its struct call_form (reroute.h), by the names of its native function
 *   VECTORS(b, c, d)       the fields of a side: buffer b, counts c, displacements d
 *
 * In an initialiser, `.sendbuf = A_SEND` sets the fields from there on. Names are written out, so
 * grep finds mpi_wrap_Allgather.
 *
 * No include guard.
 */
#define FUNCTION(blocking, nonblocking) NAMED(FORM(blocking, nonblocking))
#define VECTORS(buffer_, counts_, displs_)                                                         \
    .buffer = (buffer_), .counts.WIDTH = (counts_), .displs.WIDTH = (displs_)

#include "shim/mpi/api/width_int.h"

#include "shim/mpi/collectives/form_blocking.h"
#include TEMPLATE
#include "shim/mpi/collectives/form_nonblocking.h"
#include TEMPLATE
#include "shim/mpi/collectives/form_persistent.h"
#include TEMPLATE

#include "shim/mpi/api/width_large.h"

#include "shim/mpi/collectives/form_blocking.h"
#include TEMPLATE
#include "shim/mpi/collectives/form_nonblocking.h"
#include TEMPLATE
#include "shim/mpi/collectives/form_persistent.h"
#include TEMPLATE

#include "shim/mpi/collectives/form_none.h"
#include "shim/mpi/api/width_none.h"
#undef TEMPLATE
#undef FUNCTION
#undef VECTORS
