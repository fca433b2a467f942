/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/outlay.h"

#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/foreign.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/quiet.h"
#include "shim/record/counts/count.h"

/*
 * The attribute's value: large calls so far in units of 256 KiB, at least one each; the power of
 * two at which the ranks ask next; microseconds in these calls; and two bits for nonblocking ones.
 */
enum { UNIT = 256 << 10, MOST = (1 << 28) - 1, FIRST = 6 /* 2^6 units: 16 MiB */, LAST = 28 };
struct kept {
    uint64_t units : 28, next : 6, us : 28, wanted : 1, asked : 1;
};
_Static_assert(sizeof(struct kept) <= sizeof(uintptr_t), "it is an attribute's value");

int outlay_wanted;

static int keyval = MPI_KEYVAL_INVALID;

static struct kept unpacked(uintptr_t value)
{
    union {
        uintptr_t value;
        struct kept kept;
    } u = {.value = value};

    return u.kept;
}

static struct kept get(MPI_Comm comm)
{
    return unpacked(attribute_number(comm, keyval));
}

static void keep(MPI_Comm comm, struct kept k)
{
    union {
        struct kept kept;
        uintptr_t value;
    } u = {.kept = k};

    attribute_keep_number(comm, keyval, u.value);
}

static int is_wanted(struct kept k)
{
    return k.wanted && !k.asked;
}

/* A communicator whose ranks never met is counted no longer. */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    if (!attribute_replacing && is_wanted(unpacked(attribute_number_of(value))))
        __atomic_sub_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

int outlay_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
}

void outlay_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

/* own: of each rank; the largest of any. Returns whether that is known. */
static int largest(MPI_Comm comm, double own, double *of_all)
{
    return mpi.Allreduce(&own, of_all, 1, MPI_DOUBLE, MPI_MAX, comm) == MPI_SUCCESS;
}

/* How many times as long as so far must the calls take until meeting is paid for? 1 or less: it is.
   The rank that came last to the first Allreduce knows best how long one takes. */
static double ask(MPI_Comm comm, struct kept k, double share)
{
    double seconds = 0, least = 0, began = count_now();
    struct quiet quiet;

    quiet_begin(&quiet, comm);
    int well =
        largest(comm, 1e-6 * (double)k.us, &seconds) && largest(comm, began - count_now(), &least);
    quiet_end(&quiet);
    double meeting = 1e-6 * OUTLAY_MEETING_US - least * OUTLAY_MEETING;
    return well && seconds > 0 ? meeting / (share * seconds) : 1e9;
}

/* The least power of two that is no less. */
static unsigned power_of(double units)
{
    unsigned power = 1;

    while (power < LAST && (double)(1u << power) < units)
        power++;
    return power;
}

double outlay_share(enum plan_collective c)
{
    int times = settings.cfg.test_share;

    return choose_is_guarded(c) && times ? 1. / times : 1;
}

int outlay_pays(MPI_Comm comm, int n, enum plan_collective c, uint64_t total)
{
    double share = outlay_share(c);
    struct kept k = get(comm);
    uint64_t before = k.units, units = before + (total + UNIT - 1) / UNIT;
    int due = before >= 1u << (k.next ? k.next : FIRST);

    k.units = units < MOST ? units : MOST;
    if (share == 1 || (due && foreign_reason(comm, n))) /* meeting tells why not */
        return 1;
    double times = due ? ask(comm, k, share) : 0;
    if (due)
        k.next = power_of((double)before * (times > 2 ? times : 2));
    keep(comm, k);
    return due && times <= 1;
}

void outlay_later(MPI_Comm comm)
{
    struct kept k = get(comm);

    k.next = power_of(2.0 * (double)k.units);
    keep(comm, k);
}

void outlay_note(MPI_Comm comm, double seconds)
{
    struct kept k = get(comm);
    double us = (double)k.us + 1e6 * seconds;

    k.us = us < MOST ? (uint64_t)us : MOST;
    keep(comm, k);
}

void outlay_want_meeting(MPI_Comm comm)
{
    struct kept k = get(comm);

    if (k.wanted)
        return;
    k.wanted = 1;
    keep(comm, k);
    if (is_wanted(get(comm)))
        __atomic_add_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
}

int outlay_meeting_is_wanted(MPI_Comm comm)
{
    struct kept k = get(comm);

    if (!is_wanted(k))
        return 0;
    k.asked = 1;
    keep(comm, k);
    __atomic_sub_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
    return 1;
}
