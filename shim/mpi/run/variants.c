/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/run/variants.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/comm/comm.h"

struct variant_set variants_usable;

static const struct variant_way *const ways[] = {&variants_openmpi, &variants_mpich};
static const struct variant_way *way; /* NULL: of no library here */

void variants_open(void *libmpi)
{
    for (size_t i = 0; !way && i < sizeof ways / sizeof *ways; i++)
        if (ways[i]->open(libmpi))
            way = ways[i];
}

void variants_offer(struct variant_set *set)
{
    *set = (struct variant_set){0};
    if (way)
        way->offer(set);
}

void variants_agreed(const struct variant_set *set)
{
    variants_usable = *set;
}

void variants_close(void)
{
    if (way)
        way->close();
    variants_agreed(&(struct variant_set){0});
}

void variants_say_fixed(const char *variable)
{
    say(CFG_LEVEL_INFO,
        "%s is set: COLLSHIM_ALGORITHM cannot name another of the library's algorithms for it",
        variable);
}

const struct plan_variant *variants_named(enum plan_collective c)
{
    static int said[COLL_COUNT];
    const char *name = settings.choice[c].variant;
    const struct plan_variant *v = plan_variant_find(&variants_usable, c, name);
    char names[512] = "";
    size_t used = 0;

    if (v || __atomic_exchange_n(&said[c], 1, __ATOMIC_RELAXED))
        return v;
    for (int i = 0; i < plan_variant_count; i++)
        if (variant_set_has(&variants_usable, i) && plan_variants[i].collective == c &&
            used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     plan_variant_name(&plan_variants[i]));
    say(CFG_LEVEL_WARN,
        "COLLSHIM_ALGORITHM: %s=native:%s: this library cannot be told to use that here; it can "
        "use: %s (%s runs natively)",
        plan_collective_name(c), name, names[0] ? names : "none", plan_collective_name(c));
    return NULL;
}

static int agree(const struct mpi_comm *c, int well)
{
    return mpi.Allreduce(MPI_IN_PLACE, &well, 1, MPI_INT, MPI_MIN, c->private_comm) ==
               MPI_SUCCESS &&
           well;
}

/* Have both the same communicator? */
static int is_like(const struct plan_variant *a, const struct plan_variant *b)
{
    return a == b || (a->number == b->number && a->segment == b->segment &&
                      !strcmp(a->component, b->component));
}

static struct variant_comm *find(struct variants *made, const struct plan_variant *v)
{
    for (int i = 0; i < made->n; i++)
        if (is_like(made->made[i].like, v))
            return &made->made[i];
    return NULL;
}

/* Returns an MPI code. key: of the info object, or NULL. */
static int duplicate(MPI_Comm comm, const char *key, const char *value, MPI_Comm *copy)
{
    MPI_Info info;
    int rc = mpi.Info_create(&info);

    if (rc != MPI_SUCCESS)
        info = MPI_INFO_NULL; /* the others are in the duplication */
    else if (key)
        mpi.Info_set(info, key, value);
    rc = mpi.Comm_dup_with_info(comm, info, copy);
    if (info != MPI_INFO_NULL)
        mpi.Info_free(&info);
    return rc;
}

/* Collective: all ranks agree before, since a rank that must not begin cannot take part, and
   behind, since any may have failed. */
static MPI_Comm make(struct mpi_comm *c, const struct plan_variant *v)
{
    MPI_Comm comm = MPI_COMM_NULL;
    const char *key, *prefer;

    int may = numbering_claim();
    if (!agree(c, may)) {
        if (may)
            numbering_release();
        return MPI_COMM_NULL;
    }
    int turned = way->make_begin(v, &key, &prefer) == 0;
    int rc = duplicate(c->private_comm, key, prefer, &comm);
    if (turned)
        way->make_end(v);
    numbering_release();
    if (rc != MPI_SUCCESS)
        comm = MPI_COMM_NULL;
    else
        rc = mpi.Comm_set_errhandler(comm, mpi_process.errors_return);
    if (!agree(c, turned && rc == MPI_SUCCESS) && comm != MPI_COMM_NULL)
        mpi.Comm_free(&comm);
    return comm;
}

enum reason variants_prepare(struct mpi_comm *c, const struct plan_variant *v,
                             const struct mpi_call *call)
{
    struct variants *all = &c->variants;

    if (call->native_alike && call->total > INT_MAX)
        return REASON_VARIANT;
    if (!way->make_begin)
        return REASON_NONE;
    struct variant_comm *own = find(all, v);
    if (!own) {
        own = &all->made[all->n++];
        *own = (struct variant_comm){.like = v, .comm = make(c, v)};
    }
    return own->comm == MPI_COMM_NULL ? REASON_VARIANT : REASON_NONE;
}

int variants_run(struct mpi_comm *c, const struct plan_variant *v, struct mpi_call *call)
{
    const struct variant_comm *place = way->make_begin ? find(&c->variants, v) : NULL;
    int (*native)(const struct mpi_call *) = call->native;
    MPI_Comm comm = call->comm;

    call->comm = place ? place->comm : c->private_comm;
    if (call->native_alike)
        call->native = call->native_alike;
    int turned = way->call_begin && way->call_begin(v) == 0;
    int rc = library_call(call);
    if (turned)
        way->call_end(v);
    call->comm = comm;
    call->native = native;
    return rc;
}
