/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/narrow.h"

#include "shim/mpi/adopt.h"
#include "shim/mpi/narrowing.h"
#include "shim/mpi/neighbors.h"
#include "shim/mpi/persistent.h"

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

#define FINISH_STARTED(w, call) finish_request(&(w), (w).code ? (w).code : (call), request, adopt)
#define FINISH_MADE(w, call) finish_request(&(w), (w).code ? (w).code : (call), request, keep_made)

#include "shim/mpi/width_large.h"
#define FUNCTION(blocking, nonblocking) NAMED(FORM(blocking, nonblocking))

#include "shim/mpi/form_blocking.h"
#include "shim/mpi/narrow_forms.h"
#include "shim/mpi/form_nonblocking.h"
#include "shim/mpi/narrow_forms.h"
#include "shim/mpi/form_persistent.h"
#include "shim/mpi/narrow_forms.h"
#include "shim/mpi/form_none.h"
#include "shim/mpi/width_none.h"

void narrow_fill(void)
{
#define COLLECTIVE(name, parameters, arguments)                                                    \
    mpi.name##_c = mpi.name##_c ? mpi.name##_c : narrow_##name##_c;
#include "shim/preload/collectives.def"
#undef COLLECTIVE
}
