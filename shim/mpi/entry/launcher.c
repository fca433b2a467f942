/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/entry/launcher.h"

#include <stddef.h>

/* PMIx first: a job that has it may also have descriptors of an older interface. */
static const struct launcher *const launchers[] = {&launcher_pmix, &launcher_hydra};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static int passed_by; /* any thread sets it */

void launcher_pass_by(void)
{
    __atomic_store_n(&passed_by, 1, __ATOMIC_RELAXED);
}

int launcher_is_passed_by(void)
{
    return __atomic_load_n(&passed_by, __ATOMIC_RELAXED);
}

void launcher_announce(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        launchers[i]->announce();
}

const struct launcher *launcher_of_job(const char **lost)
{
    *lost = NULL;
    for (int i = 0; i < LAUNCHERS; i++) {
        enum launcher_state state = launchers[i]->state();

        if (state == LAUNCHER_READY)
            return launchers[i];
        if (state == LAUNCHER_LOST && !*lost)
            *lost = launchers[i]->name;
    }
    return NULL;
}
