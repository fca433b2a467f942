/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a template (forms.h), for the blocking form: */
#include "shim/mpi/collectives/form_none.h"
#define FORM(blocking, nonblocking) blocking
#define FORM_PARAMETERS
#define FORM_ARGUMENTS
#define FORM_GIVEN
#define FORM_SMALL(...) mpi_gate_passes(__VA_ARGS__)
#define FORM_PASSES(passes) 0
#define FORM_HERE(blocking, nonblocking)                                                           \
    {                                                                                              \
        .native = FUNCTION(blocking, nonblocking)                                                  \
    }
#define FORM_FINISH FINISH /* large_by_int.c */
