/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of this backend for the preload. Each copy of NCCL in the process gets its own
 * entries, because the arguments of ncclGroupStart and others do not tell the copy. If a report
 * or a roll is wanted, the entries know call sites. With COLLSHIM_MODE=off there are none: every
 * call goes to the library directly.
 */
#include "shim/preload/backend.h"

#include <dlfcn.h>
#include <stdio.h>

#include "shim/decide/base/floats.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/entry/wrappers.h"
#include "shim/record/roll/roll.h"
#include "shim/preload/reserve.h"

/* `collshim info` finds this text in the file, without loading it. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
__attribute__((used)) static const char built_for[] =
    "@(#)collshim backend for NCCL " TEXT(NCCL_MAJOR) "." TEXT(NCCL_MINOR) "." TEXT(NCCL_PATCH);

/* One function per row and copy, and one each that also tells where the program calls from. */
#define TELL nccl_site_enter(__builtin_return_address(0), __builtin_dwarf_cfa());
#define THEN(...) , __VA_ARGS__
#define NOTHING()
#define ENTRY(which, number, first, name, params, then, args)                                      \
    static ncclResult_t which##_##name params                                                      \
    {                                                                                              \
        first FLOATS_OURS;                                                                         \
        return nccl_wrap_##name(&nccl_process.copy[number] then args);                             \
    }
#define ENTRIES(name, params, then, args)                                                          \
    ENTRY(first, 0, , name, params, then, args)                                                    \
    ENTRY(second, 1, , name, params, then, args)                                                   \
    ENTRY(first_sited, 0, TELL, name, params, then, args)                                          \
    ENTRY(second_sited, 1, TELL, name, params, then, args)
#define NCCL_WRAP(need, name, params, args) ENTRIES(name, params, THEN, args)
#define NCCL_BARE(need, name) ENTRIES(name, (void), NOTHING, ())
#include "transports/net/nccl_calls.def"

enum { PLAIN, SITED, KINDS };
static struct backend_entry entries[KINDS][COPIES][64] = {
    {{
#define NCCL_WRAP(need, name, params, args) {#name, (void *)first_##name},
#include "transports/net/nccl_calls.def"
     },
     {
#define NCCL_WRAP(need, name, params, args) {#name, (void *)second_##name},
#include "transports/net/nccl_calls.def"
     }},
    {{
#define NCCL_WRAP(need, name, params, args) {#name, (void *)first_sited_##name},
#include "transports/net/nccl_calls.def"
     },
     {
#define NCCL_WRAP(need, name, params, args) {#name, (void *)second_sited_##name},
#include "transports/net/nccl_calls.def"
     }},
};

/* An older library lacks some. */
static void leave_out_what_is_absent(struct backend_entry *list, void *library)
{
    struct backend_entry *kept = list;
    char symbol[64];

    for (const struct backend_entry *e = list; e->name; e++) {
        snprintf(symbol, sizeof symbol, "pnccl%s", e->name);
        if (dlsym(library, symbol))
            *kept++ = *e;
    }
    *kept = (struct backend_entry){0};
}

__attribute__((visibility("default"))) const struct backend_entry *
collshim_backend_open(const struct backend_host *host, char *why, unsigned size)
{
    static const struct backend_entry none[1];
    const char *missing;
    struct backend_entry *list;
    struct nccl_copy *copy;

    if (host->abi != BACKEND_ABI) {
        snprintf(why, size, "the backend speaks version %d of the preload's interface, not %d",
                 BACKEND_ABI, host->abi);
        return NULL;
    }
    if (nccl_process.ncopies == COPIES) {
        snprintf(why, size, "%s is one copy of NCCL too many; %d are served", host->library_path,
                 COPIES);
        return NULL;
    }
    reserve_open();
    thread_own_at = host->thread_own;
    FLOATS_OURS;
    nccl_process_open();
    nccl_process.serves_mpi = host->serves_mpi;
    copy = &nccl_process.copy[nccl_process.ncopies];
    missing = nccl_calls_open(host->library, &copy->real);
    if (missing) {
        snprintf(why, size, "%s has no %s", host->library_path, missing);
        return NULL;
    }
    copy->version = host->library_version;
    copy->number = nccl_process.ncopies++;
    list = entries[settings_want_report() || roll_is_wanted() ? SITED : PLAIN][copy->number];
    leave_out_what_is_absent(list, host->library);
    return settings.cfg.mode == CFG_MODE_OFF ? none : list;
}
