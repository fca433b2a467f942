/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backend's one exported function, which names the functions that are replaced. With
 * COLLSHIM_MODE=off it replaces MPI_Init alone, because the other ranks may be waiting to learn
 * that this one is off. It also replaces functions with large counts that the library lacks. Every
 * other call goes to the library directly.
 */
#include "shim/preload/backend.h"

#include <stdio.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/floats.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/progress.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/comm/revoke.h"
#include "shim/mpi/entry/absent.h"
#include "shim/mpi/entry/large_by_int.h"
#include "shim/mpi/entry/launcher.h"
#include "shim/mpi/run/variants.h"
#include "shim/preload/reserve.h"
#include "shim/record/roll/roll.h"

/* `collshim info` finds this text in the file, without loading it. */
#if defined(OMPI_MAJOR_VERSION)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define BUILT_FOR                                                                                  \
    "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION)
#define BUILT_FOR "MPICH " MPICH_VERSION
#elif defined(MPI_ABI_VERSION)
#define BUILT_FOR "the standard ABI of MPI 5"
#else
#define BUILT_FOR COLLSHIM_FAMILY
#endif
__attribute__((used)) static const char built_for[] = "@(#)collshim backend for " BUILT_FOR;

#define ENTRY(name)                                                                                \
    {                                                                                              \
#name, (void *)mpi_wrap_##name                                                             \
    }
#define SITED(name)                                                                                \
    {                                                                                              \
#name, (void *)mpi_sited_##name                                                            \
    }

#define ROLLED(name)                                                                               \
    {                                                                                              \
#name, (void *)mpi_rolled_##name                                                           \
    }
#define ROLL_MAKER(name, n) int mpi_rolled_##name(PARAMS_##n);
#include "shim/mpi/entry/rolled.def"

/* Functions with the roll, collectives with call sites, then all functions: a name's first entry
   counts. */
static const struct backend_entry entries[] = {
#define COLLECTIVE(name, parameters, arguments) ROLLED(name), ROLLED(name##_c),
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#define ROLL_MAKER(name, n) ROLLED(name),
#define ROLL_OTHER(name) ROLLED(name),
#include "shim/mpi/entry/rolled.def"
    SITED(Barrier),
#define COLLECTIVE(name, parameters, arguments) SITED(name), SITED(name##_c),
#include "shim/preload/collectives.def"
#undef COLLECTIVE
#define WATCHED(name, n)
#define SYMBOL(name, n) ENTRY(name),
#include "shim/preload/symbols.def"
#undef SYMBOL
    {NULL, NULL},
};
enum {
    ENTRIES_SITED = 1
#define COLLECTIVE(name, parameters, arguments) +2
#include "shim/preload/collectives.def"
#undef COLLECTIVE
    ,
    ENTRIES_ROLLED = ENTRIES_SITED - 1
#define ROLL_MAKER(name, n) +1
#define ROLL_OTHER(name) +1
#include "shim/mpi/entry/rolled.def"
};

/* Large counts and persistent calls are not left to the library, which may have none; functions:
   see off(). */
static struct backend_entry entries_off[] = {
#define COLLECTIVE(name, parameters, arguments) {#name "_c", NULL},
#define PERSISTENT(name, parameters, arguments) {#name, NULL}, {#name "_c", NULL},
#include "shim/preload/collectives.def"
#undef COLLECTIVE
    ENTRY(Init), ENTRY(Init_thread), ENTRY(Session_init), ENTRY(Comm_idup_with_info), {NULL, NULL},
};

static const struct backend_entry *off(void)
{
    struct backend_entry *entry = entries_off;

#define COLLECTIVE(name, parameters, arguments) entry++->function = (void *)mpi.name##_c;
#define PERSISTENT(name, parameters, arguments)                                                    \
    entry++->function = (void *)mpi.name;                                                          \
    COLLECTIVE(name, parameters, arguments)
#include "shim/preload/collectives.def"
#undef COLLECTIVE
    return entries_off;
}

__attribute__((visibility("default"))) const struct backend_entry *
collshim_backend_open(const struct backend_host *host, char *why, unsigned size)
{
    if (host->abi != BACKEND_ABI) {
        snprintf(why, size, "the backend speaks version %d of the preload's interface, not %d",
                 BACKEND_ABI, host->abi);
        return NULL;
    }
    reserve_open();
    thread_own_at = host->thread_own;
    FLOATS_OURS;
    const char *missing = mpi_calls_open(host->library);
    if (missing) {
        snprintf(why, size, "%s has no %s", host->library_path, missing);
        return NULL;
    }
    absent_fill(host->library);
    large_by_int_fill();
    floats_fill();
    progress_open(host->library);
    numbering_open(host->library);
    revoke_open(host->library);
    launcher_open(host->announcement);
    mpi_process_open(host->library_version);
    variants_open(host->library);
    return settings.cfg.mode == CFG_MODE_OFF ? off()
           : roll_is_wanted()                ? entries
           : settings_want_report()          ? entries + ENTRIES_ROLLED
                                             : entries + ENTRIES_ROLLED + ENTRIES_SITED;
}
