/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a template (forms.h), for the nonblocking form: */
#include "shim/mpi/collectives/form_none.h"
#define FORM(blocking, nonblocking) nonblocking
#define FORM_PARAMETERS , MPI_Request *request
#define FORM_ARGUMENTS , request
#define FORM_GIVEN , call->nonblocking
#define FORM_SMALL(...) (!request || nonblocking_passes(__VA_ARGS__))
#define FORM_PASSES(passes) (!request || (passes))
#define FORM_HERE(blocking, nonblocking)                                                           \
    {                                                                                              \
        .native = FUNCTION(blocking, nonblocking), .request = request                              \
    }
#define FORM_FINISH FINISH_STARTED /* large_by_int.c */
