/* SPDX-License-Identifier: BSD-3-Clause */
/* All unit tests in one program; CK_RUN_SUITE and CK_RUN_CASE pick some of them. */
#include <stdlib.h>

#include "test/unit/folder.h"
#include "test/unit/suites.h"

/* Seconds a test may take: ends what hangs, and nothing that merely shares its processors. */
#define TIMEOUT "900"

static int run(void)
{
    setenv("CK_DEFAULT_TIMEOUT", TIMEOUT, 0); /* read as each case is made */
    SRunner *r = srunner_create(NULL);

#define SUITE(name) srunner_add_suite(r, suite_##name());
#include "test/unit/suites.def"
#undef SUITE
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(void)
{
    return folder_run(run);
}
