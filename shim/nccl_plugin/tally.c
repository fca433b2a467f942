/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective has a slot of a fixed table while the GPU works on it. A collective that NCCL never
 * ends (an aborted communicator) costs a slot until the communicator is closed, and no memory.
 * Without a free slot a call is counted and not timed. The handle of a channel is a byte of its
 * slot, from which the slot is found again.
 */
#include "shim/nccl_plugin/tally.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "shim/nccl_plugin/names.h"
#include "shim/nccl_plugin/plugin.h"
#include "shim/record/counts/count.h"

enum { SLOTS = 4096, SUMS = 1024, CHANNELS = 64 };

struct tally_comm {
    int nranks, nnodes;
};

/* Calls of one size class that NCCL ran alike. */
struct tally_sum {
    uint64_t calls, timed, nanoseconds; /* calls 0: free */
    int collective, class, fewest, most;
    char algorithm[TALLY_NAME], protocol[TALLY_NAME];
};

struct tally_slot {
    const struct tally_comm *comm; /* NULL: free */
    struct tally_sum *sum;
    uint64_t first, last; /* nanoseconds of the GPU's clock */
    unsigned channels, ended;
    unsigned char channel[CHANNELS]; /* handles: their addresses */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct tally_slot slots[SLOTS];
static unsigned next_slot;
static struct tally_sum sums[SUMS + 1]; /* the last one: those for which there was no room */

struct tally_comm *tally_open(int nranks, int nnodes)
{
    struct tally_comm *c = malloc(sizeof *c);

    if (c)
        *c = (struct tally_comm){.nranks = nranks, .nnodes = nnodes};
    return c;
}

void tally_close(struct tally_comm *c)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; c && i < SLOTS; i++)
        if (slots[i].comm == c)
            slots[i].comm = NULL;
    pthread_mutex_unlock(&lock);
    free(c);
}

static struct tally_sum *find_sum(int collective, int class, const char *algorithm,
                                  const char *protocol)
{
    uint64_t hash = hash_text(hash_text(HASH_SEED, algorithm), protocol);
    size_t at = (size_t)(hash ^ (uint64_t)(collective * COUNT_CLASSES + class)) % SUMS;

    for (size_t i = 0; i < SUMS; i++, at = (at + 1) % SUMS) {
        struct tally_sum *s = &sums[at];

        if (!s->calls) {
            *s = (struct tally_sum){.collective = collective, .class = class};
            memcpy(s->algorithm, algorithm, TALLY_NAME);
            memcpy(s->protocol, protocol, TALLY_NAME);
            return s;
        }
        if (s->collective == collective && s->class == class && !strcmp(s->algorithm, algorithm) &&
            !strcmp(s->protocol, protocol))
            return s;
    }
    return &sums[SUMS];
}

static void note_channels(struct tally_sum *s, int channels)
{
    s->fewest = !s->calls || channels < s->fewest ? channels : s->fewest;
    s->most = channels > s->most ? channels : s->most;
    s->calls++;
}

static struct tally_slot *take_slot(const struct tally_comm *c, struct tally_sum *sum, int channels)
{
    for (int i = 0; channels > 0 && i < SLOTS; i++) {
        struct tally_slot *s = &slots[next_slot++ % SLOTS];

        if (s->comm)
            continue;
        *s = (struct tally_slot){.comm = c, .sum = sum, .channels = (unsigned)channels};
        return s;
    }
    return NULL;
}

/* The report's first table: a rerouted call is one whose algorithm was named, and taken. */
static void count_call(const struct tally_comm *c, enum plan_collective id, uint64_t total,
                       int tuned, const char *algorithm, const char *protocol)
{
    const struct plan_variant *v = NULL;
    char taken[2 * TALLY_NAME];
    int channels;

    if (tuned)
        v = plugin_choose(id, c->nranks, c->nnodes, total, &channels);
    snprintf(taken, sizeof taken, "%s/%s", algorithm, protocol);
    if (!v)
        count_native(id, REASON_NCCL_CHOSE);
    else if (!strcmp(taken, plan_variant_name(v)))
        count_rerouted(id, &v->row, 1, total, 0);
    else
        count_native(id, REASON_NCCL_REFUSED);
}

void *tally_start(struct tally_comm *c, const struct tally_call *call, int tuned)
{
    int id = names_collective(call->function);
    char algorithm[TALLY_NAME] = "", protocol[TALLY_NAME] = "";
    struct tally_slot *slot;
    struct tally_sum *sum;
    uint64_t total;

    if (!c || id < 0)
        return NULL;
    total = names_total((enum plan_collective)id, call->count, call->datatype, c->nranks);
    names_lower(call->algorithm, algorithm, sizeof algorithm);
    names_lower(call->protocol, protocol, sizeof protocol);
    count_call(c, (enum plan_collective)id, total, tuned, algorithm, protocol);
    pthread_mutex_lock(&lock);
    sum = find_sum(id, histogram_size_class(total), algorithm, protocol);
    note_channels(sum, call->channels);
    slot = take_slot(c, sum, call->channels);
    pthread_mutex_unlock(&lock);
    return slot;
}

/* The slot that a handle lies in, or NULL: none of ours. */
static struct tally_slot *slot_of(void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)slots;

    if (at < first || at >= first + sizeof slots)
        return NULL;
    struct tally_slot *s = &slots[(at - first) / sizeof *slots];
    return s->comm ? s : NULL;
}

void *tally_channel_start(void *parent, unsigned channel, uint64_t nanoseconds)
{
    struct tally_slot *s;
    void *handle = NULL;

    pthread_mutex_lock(&lock);
    s = slot_of(parent);
    if (s) {
        s->first = !s->first || nanoseconds < s->first ? nanoseconds : s->first;
        handle = &s->channel[channel % CHANNELS];
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void tally_channel_time(void *handle, uint64_t nanoseconds)
{
    struct tally_slot *s;

    pthread_mutex_lock(&lock);
    s = slot_of(handle);
    if (s)
        s->last = nanoseconds > s->last ? nanoseconds : s->last;
    pthread_mutex_unlock(&lock);
}

static void end_channel(struct tally_slot *s)
{
    if (++s->ended < s->channels)
        return;
    if (s->first && s->last >= s->first) {
        s->sum->timed++;
        s->sum->nanoseconds += s->last - s->first;
    }
    s->comm = NULL;
}

void tally_stop(void *handle)
{
    struct tally_slot *s;

    pthread_mutex_lock(&lock);
    s = slot_of(handle);
    if (s && handle != s) /* a collective's own stop says that it is enqueued */
        end_channel(s);
    pthread_mutex_unlock(&lock);
}

static void put_sum(struct json *j, const struct tally_sum *s)
{
    json_open(j, NULL, '{');
    json_string(j, "collective", plan_collective_name((enum plan_collective)s->collective));
    json_int(j, "total_bytes_from", 1ll << s->class);
    json_string(j, "algorithm", s->algorithm);
    json_string(j, "protocol", s->protocol);
    json_int(j, "channels_least", s->fewest);
    json_int(j, "channels_most", s->most);
    json_int(j, "calls", (long long)s->calls);
    json_int(j, "timed", (long long)s->timed);
    if (s->timed)
        json_rounded(j, "us", 4, (double)s->nanoseconds / (double)s->timed / 1000);
    else
        json_null(j, "us");
    json_close(j, '}');
}

/* By collective, size, then calls. */
static int in_order(const void *a, const void *b)
{
    const struct tally_sum *x = a, *y = b;
    int rc = x->collective - y->collective;

    rc = rc ? rc : x->class - y->class;
    rc = rc ? rc : (x->calls < y->calls) - (x->calls > y->calls);
    rc = rc ? rc : strcmp(x->algorithm, y->algorithm);
    return rc ? rc : strcmp(x->protocol, y->protocol);
}

void tally_report(struct json *j)
{
    static struct tally_sum sorted[SUMS];
    size_t n = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < SUMS; i++)
        if (sums[i].calls)
            sorted[n++] = sums[i];
    pthread_mutex_unlock(&lock);
    qsort(sorted, n, sizeof *sorted, in_order);
    json_open(j, "choices", '[');
    for (size_t i = 0; i < n; i++)
        put_sum(j, &sorted[i]);
    json_close(j, ']');
    json_int(j, "calls_not_listed", (long long)sums[SUMS].calls);
}
