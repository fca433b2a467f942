/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a template (forms.h), for the persistent form: */
#include "shim/mpi/collectives/form_none.h"
#define FORM(blocking, nonblocking) blocking##_init
#define FORM_PARAMETERS , MPI_Info info, MPI_Request *request
#define FORM_ARGUMENTS , info, request
#define FORM_GIVEN , a->form.info, call->nonblocking
#define FORM_SMALL(...) (!request)
#define FORM_PASSES(passes) (!request)
#define FORM_HERE(blocking, nonblocking)                                                           \
    {                                                                                              \
        .native = FUNCTION(blocking, nonblocking), .request = request, .info = info,               \
        .persistent = 1                                                                            \
    }
#define FORM_FINISH FINISH_MADE /* large_by_int.c */
