/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modelled time. Streams run as fast as this machine can; beside that, every piece of work has a
 * start and an end in modelled nanoseconds. It starts when it was submitted, and its dependencies
 * and the work before it have ended. It takes the time its links need. So a split between two links
 * is right or wrong on any busy machine, and no test has to measure a clock.
 *
 * A link is a list of busy intervals. Work takes the free time after its start, in pieces if need
 * be: two streams get the same total as on a shared link, whichever thread happens to come first.
 *
 * The lock is invisible to the thread sanitizer on purpose: it must not order two streams.
 */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define BUSY 256
#define UNSEEN __attribute__((no_sanitize_thread))

struct span {
    uint64_t from, to;
};

struct link {
    int lock, n;
    struct span busy[BUSY]; /* ordered, apart from each other */
};

struct table {
    struct link simple[3][SIM_DEVICES], peer[SIM_DEVICES][SIM_DEVICES];
};

static struct table *table;
static uint64_t host_ns;

int sim_clock_start(void)
{
    int fd = -1, flags = MAP_SHARED | MAP_ANONYMOUS;
    void *at;

    if (sim_config.share[0]) {
        fd = open(sim_config.share, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof *table) < 0)
            return -1;
        flags = MAP_SHARED;
    }
    at = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return -1;
    table = at;
    return 0;
}

UNSEEN static void insert(struct link *l, int at, struct span s)
{
    if (at > 0 && l->busy[at - 1].to == s.from) {
        l->busy[at - 1].to = s.to;
        if (at < l->n && l->busy[at].from == s.to) {
            l->busy[at - 1].to = l->busy[at].to;
            for (int i = at; i + 1 < l->n; i++)
                l->busy[i] = l->busy[i + 1];
            l->n--;
        }
        return;
    }
    if (at < l->n && l->busy[at].from == s.to) {
        l->busy[at].from = s.from;
        return;
    }
    if (l->n == BUSY) { /* the oldest gap is given up */
        l->busy[1].from = l->busy[0].from;
        for (int i = 0; i + 1 < l->n; i++)
            l->busy[i] = l->busy[i + 1];
        l->n--;
        at = at > 0 ? at - 1 : 0;
    }
    for (int i = l->n; i > at; i--)
        l->busy[i] = l->busy[i - 1];
    l->busy[at] = s;
    l->n++;
}

UNSEEN static uint64_t fill(struct link *l, uint64_t start, uint64_t ns)
{
    int i = 0;

    while (ns > 0) {
        uint64_t end;

        while (i < l->n && l->busy[i].to <= start)
            i++;
        if (i < l->n && l->busy[i].from <= start) {
            start = l->busy[i].to;
            continue;
        }
        end = start + ns;
        if (i < l->n && l->busy[i].from < end)
            end = l->busy[i].from;
        ns -= end - start;
        insert(l, i, (struct span){start, end});
        start = end;
        i = 0;
    }
    return start;
}

UNSEEN uint64_t sim_link_use(enum sim_link_kind kind, int device, int peer, uint64_t start,
                             uint64_t bytes)
{
    const double rates[] = {sim_config.hbm, sim_config.h2d, sim_config.d2h, sim_config.peer};
    struct link *l = kind == LINK_PEER ? &table->peer[device][peer] : &table->simple[kind][device];
    uint64_t end;

    while (__atomic_exchange_n(&l->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    end = fill(l, start, (uint64_t)((double)bytes / rates[kind]));
    __atomic_store_n(&l->lock, 0, __ATOMIC_RELEASE);
    return end;
}

/* Where hosts' clocks are real ones, they are those of all processes. */
uint64_t sim_host_now(void)
{
    uint64_t modelled = __atomic_load_n(&host_ns, __ATOMIC_RELAXED), real = 0;
    struct timespec t;

    if (sim_config.real_clock && clock_gettime(CLOCK_MONOTONIC, &t) == 0)
        real = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return real > modelled ? real : modelled;
}

void sim_host_advance(uint64_t to)
{
    uint64_t now = sim_host_now();

    while (now < to &&
           !__atomic_compare_exchange_n(&host_ns, &now, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* For tests: the modelled time at which the host is. */
SIM_EXPORT uint64_t gpusim_now_ns(void);
uint64_t gpusim_now_ns(void)
{
    return sim_host_now();
}
