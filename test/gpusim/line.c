/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line: things are issued in order and get done. The one edge between streams' threads, hosts and
 * processes; may lie in shared memory.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

static int passed(uint32_t done, uint32_t ticket)
{
    return (int32_t)(done - ticket) >= 0;
}

uint32_t line_issue(struct line *l)
{
    return __atomic_add_fetch(&l->issued, 1, __ATOMIC_RELAXED);
}

uint32_t line_issued(const struct line *l)
{
    return __atomic_load_n(&l->issued, __ATOMIC_RELAXED);
}

void line_finish(struct line *l, uint32_t ticket, uint64_t ns)
{
    uint32_t done = __atomic_load_n(&l->done, __ATOMIC_RELAXED);

    __atomic_store_n(&l->ns[ticket % LINE_TIMES], ns, __ATOMIC_RELAXED);
    while (!passed(done, ticket) &&
           !__atomic_compare_exchange_n(&l->done, &done, ticket, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    syscall(SYS_futex, &l->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int line_is_done(const struct line *l, uint32_t ticket)
{
    return passed(__atomic_load_n(&l->done, __ATOMIC_ACQUIRE), ticket);
}

uint64_t line_wait(const struct line *l, uint32_t ticket)
{
    const struct timespec moment = {0, 20000000};
    uint32_t done;

    while (!passed(done = __atomic_load_n(&l->done, __ATOMIC_ACQUIRE), ticket))
        syscall(SYS_futex, &l->done, FUTEX_WAIT, done, &moment, NULL, 0);
    return line_time(l, ticket);
}

uint64_t line_time(const struct line *l, uint32_t ticket)
{
    uint32_t done = __atomic_load_n(&l->done, __ATOMIC_ACQUIRE);

    return __atomic_load_n(&l->ns[(done - ticket < LINE_TIMES ? ticket : done) % LINE_TIMES],
                           __ATOMIC_RELAXED);
}
