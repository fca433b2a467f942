/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/entry/large_by_int.h"

#include "shim/mpi/collectives/neighbors.h"
#include "shim/mpi/entry/large_by_int_counts.h"
#include "shim/mpi/later/persistent.h"
#include "shim/mpi/later/request_memory.h"

/* The call, unless its numbers are beyond ints. */
#define FINISH(w, call) finish(&(w), (w).code ? (w).code : (call))

/* The end of a call with a request: the library may read the vectors until it is complete, or as
   long as it lives. keep: takes them over. */
static int finish_request(struct narrowing *w, int rc, MPI_Request *request,
                          void (*keep)(MPI_Request *request, void **memory, int n))
{
    if (w->code && request)
        *request = MPI_REQUEST_NULL;
    if (!w->code && rc == MPI_SUCCESS && w->nvectors) {
        keep(request, w->vectors, w->nvectors);
        w->nvectors = 0;
    }
    return finish(w, rc);
}

static void keep_made(MPI_Request *request, void **memory, int n)
{
    persistent_keep(*request, memory, n);
}

#define FINISH_STARTED(w, call)                                                                    \
    finish_request(&(w), (w).code ? (w).code : (call), request, request_memory_keep)
#define FINISH_MADE(w, call) finish_request(&(w), (w).code ? (w).code : (call), request, keep_made)

#include "shim/mpi/api/width_large.h"
#define FUNCTION(blocking, nonblocking) NAMED(FORM(blocking, nonblocking))

#include "shim/mpi/collectives/form_blocking.h"
#include "shim/mpi/entry/large_by_int_forms.h"
#include "shim/mpi/collectives/form_nonblocking.h"
#include "shim/mpi/entry/large_by_int_forms.h"
#include "shim/mpi/collectives/form_persistent.h"
#include "shim/mpi/entry/large_by_int_forms.h"
#include "shim/mpi/collectives/form_none.h"
#include "shim/mpi/api/width_none.h"

void large_by_int_fill(void)
{
#define COLLECTIVE(name, parameters, arguments)                                                    \
    mpi.name##_c = mpi.name##_c ? mpi.name##_c : narrow_##name##_c;
#include "shim/preload/collectives.def"
#undef COLLECTIVE
}
