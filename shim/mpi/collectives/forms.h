/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A template of all forms of a collective: the file that the macro TEMPLATE names is included once
 * for each, blocking, nonblocking and persistent, with int counts and with large ones. It defines
 * the library's function, called as mpi_call.native, and the wrapper. Its parameters: width_int.h,
 * and
 *
 *   FORM(Name, name)       the function: Name, Iname or Name_init
 *   FORM_PARAMETERS        what its parameters have behind the blocking one's,
 *   FORM_ARGUMENTS         its arguments in the wrapper,
 *   FORM_GIVEN             and in the native function, with `a` and `call`
 *   FORM_SMALL(collective, count, type, comm)
 *                          does one look show that the wrapper's call is the library's? As
 *                          mpi_gate_passes and nonblocking_passes
 *   FORM_PASSES(passes)    is the wrapper's call the library's? passes: of a nonblocking one that
 *                          has a request
 *   FORM_HERE(Name, name)  the initialiser of its struct call_form (reroute.h)
 *
 * No include guard.
 */
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
