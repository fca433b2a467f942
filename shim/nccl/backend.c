/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the preload sees of this backend. Each copy of NCCL in the process gets entries of its own,
 * because ncclGroupStart and others do not say whose they are. With COLLSHIM_MODE=off there are
 * none: every call goes to the library directly.
 */
#include "shim/preload/backend.h"

#include <dlfcn.h>
#include <stdio.h>

#include "shim/nccl/wrappers.h"

/* `collshim info` finds this text in the file, without loading it. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
__attribute__((used)) static const char built_for[] =
    "@(#)collshim backend for NCCL " TEXT(NCCL_MAJOR) "." TEXT(NCCL_MINOR) "." TEXT(NCCL_PATCH);

/* One function per row and copy. */
#define WRAP(name, params, args)                                                                   \
    static ncclResult_t first_##name params                                                        \
    {                                                                                              \
        return nccl_wrap_##name(&nccl_process.copy[0], UNPACK args);                               \
    }                                                                                              \
    static ncclResult_t second_##name params                                                       \
    {                                                                                              \
        return nccl_wrap_##name(&nccl_process.copy[1], UNPACK args);                               \
    }
#define WRAP_BARE(name)                                                                            \
    static ncclResult_t first_##name(void)                                                         \
    {                                                                                              \
        return nccl_wrap_##name(&nccl_process.copy[0]);                                            \
    }                                                                                              \
    static ncclResult_t second_##name(void)                                                        \
    {                                                                                              \
        return nccl_wrap_##name(&nccl_process.copy[1]);                                            \
    }
#include "shim/nccl/wraps.def"
#undef WRAP_BARE
#undef WRAP

static struct backend_entry entries[COPIES][64] = {
    {
#define WRAP(name, params, args) {#name, (void *)first_##name},
#define WRAP_BARE(name) WRAP(name, , )
#include "shim/nccl/wraps.def"
#undef WRAP
    },
    {
#define WRAP(name, params, args) {#name, (void *)second_##name},
#include "shim/nccl/wraps.def"
#undef WRAP_BARE
#undef WRAP
    },
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
    nccl_process_open();
    copy = &nccl_process.copy[nccl_process.ncopies];
    missing = nccl_calls_open(host->library, &copy->real);
    if (missing) {
        snprintf(why, size, "%s has no %s", host->library_path, missing);
        return NULL;
    }
    copy->version = host->library_version;
    copy->number = nccl_process.ncopies++;
    leave_out_what_is_absent(entries[copy->number], host->library);
    return settings.cfg.mode == CFG_MODE_OFF ? none : entries[copy->number];
}
