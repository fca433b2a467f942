/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs. An agreement takes a 400th of the calls' time, and comes behind every call where it takes
 * an 800th at most. Measurements that find no change come 24, 48 ... 3,072 calls apart: at most 7
 * in the first 3,000 calls and then one in 3,000. One within a communicator's first calls, which
 * may be slow by themselves, puts off the next for 3 calls. From the third on they take .3 % of the
 * calls' time at most, or come 4,096 calls apart. Changes come 3, 6 ... 192 calls apart at least
 * while they follow each other within 300 calls. So a rail that flaps has the plan that suits one
 * of its states for about 200 calls, and costs a measurement in as many. A probe comes every 32
 * calls, 256 where changes are frequent, or so rarely that it costs a 250th of their time.
 */
#include "shim/decide/choose/follow.h"

#include <string.h>

enum { FIRST_AGREED = 2, MOST_APART = 256, PROBE_CALLS = 32, MOST_REST = 4096 };
enum {
    FIRST_CALLS = 4,
    FIRST_REST = 24,
    LEAST_REST = 3,
    MOST_VAIN = 7,
    MOST_SLOW = 5,
    FREE_VAIN = 2,
    MOST_CHANGES = 6,
    QUIET = 300
};

static const double agreements = .0025; /* share of the calls' time */
static const double often = .00125;     /* likewise, where they come more often */
static const double probes = .004;
static const double vain_ones = .003; /* of measurements without a change, but for the first two */
static const double slower = 1.3; /* than usual, on the rank that sees most of it, twice in a row */
static const double far_slower = 4; /* once is enough */
static const double faster = .85;
static const double above_least = 1.1; /* times the least that a call's rails need: as it may be */
static const double weight = .125;     /* of a call in what is usual */

/* The place of the kind's usual time; kinds beyond the first push others out. */
static uint32_t place_of(const struct follow *f, uint32_t key)
{
    uint32_t at = key % FOLLOW_KINDS;

    for (int i = 0; i < 4; i++, at = (at + 1) % FOLLOW_KINDS)
        if (!f->of[at].key || f->of[at].key == key)
            break;
    return at;
}

int follow_is_new(const struct follow *f, uint32_t key)
{
    const struct follow_kind *k = &f->of[place_of(f, key)];

    return k->key != key || k->agreed < FIRST_AGREED;
}

static struct follow_kind *kind_of(struct follow *f, uint32_t key)
{
    uint32_t at = place_of(f, key);

    if (f->of[at].key != key)
        f->of[at] = (struct follow_kind){.key = key};
    return &f->of[at];
}

/* The time of a call of a new kind through what it may take, by its rails alone. */
static double by_least(const struct follow *f)
{
    double usual = f->beyond > above_least ? f->beyond : above_least;

    return f->least_of / usual;
}

void follow_call(struct follow *f, uint32_t key, double seconds, double work, double least)
{
    struct follow_kind *k = kind_of(f, key);
    int is_new = k->agreed < FIRST_AGREED || !(k->usual > 0);

    f->now = work > 0 ? seconds / work : 0;
    f->key = key;
    f->ratio[1] = f->ratio[0];
    f->least_of = is_new && least > 0 ? seconds / least : 0;
    f->ratio[0] = is_new ? by_least(f) : f->now / k->usual;
    f->seconds += seconds;
    f->calls++;
    f->since++;
    f->probe -= f->probe > 0;
}

/* Learn what the last call took on the slowest rank. */
static void learn(struct follow *f, double slowest)
{
    struct follow_kind *k = kind_of(f, f->key);
    double ratio = k->usual > 0 ? slowest / k->usual : 0;

    if (k->agreed < FIRST_AGREED) {
        k->agreed++;
        k->usual = ratio > 0 && ratio < 1 ? k->usual : slowest;
    } else if (ratio < faster) {
        k->usual = k->fast ? slowest : k->usual; /* twice in a row: the first ones were slow */
    } else if (ratio < slower) {
        k->usual += (slowest - k->usual) * weight;
    }
    k->fast = ratio < faster;
}

int follow_due(const struct follow *f)
{
    /* Behind the first call: a rail may have fallen since it was measured. */
    return f->since >= (f->apart ? f->apart : 1);
}

/* The values to agree on. The smaller ratio of the last two calls, or the last one's alone. The
   least time of an agreement on any rank, since the others waited for the last one. The calls'
   time, and the last one's by its work. */
void follow_tell(const struct follow *f, double value[FOLLOW_VALUES])
{
    double lesser = f->ratio[0] < f->ratio[1] ? f->ratio[0] : f->ratio[1];
    double alone = f->ratio[0] * slower / far_slower;

    value[0] = lesser > alone ? lesser : alone;
    value[1] = -f->agreement;
    value[2] = f->seconds / (f->since ? f->since : 1);
    value[3] = f->now;
}

static uint32_t apart(double agreement, double call)
{
    double share = call > 0 ? agreement / call : 1;
    double calls = share < FOLLOW_LEAST_APART * often        ? share / often
                   : share < FOLLOW_LEAST_APART * agreements ? FOLLOW_LEAST_APART - 1
                                                             : share / agreements;

    return calls < MOST_APART ? (uint32_t)calls + 1 : MOST_APART;
}

static uint32_t less(uint32_t calls, uint32_t by)
{
    return calls > by ? calls - by : 0;
}

enum follow_answer follow_hear(struct follow *f, const double value[FOLLOW_VALUES],
                               double agreement)
{
    unsigned enough = f->vain < MOST_SLOW - 1 ? f->vain + 1 : MOST_SLOW;

    f->slow = value[0] > slower ? (uint8_t)(f->slow + (f->slow < MOST_SLOW)) : 0;
    if (-value[1] > 0)
        f->apart = apart(-value[1], value[2]);
    /* The shortest lately: others are long because a rank came late. */
    f->agreement =
        f->agreement > 0 && agreement > 1.1 * f->agreement ? 1.1 * f->agreement : agreement;
    f->per_call = value[2];
    learn(f, value[3]);
    f->rest = less(f->rest, f->since);
    f->quiet = less(f->quiet, f->since);
    if (!f->quiet)
        f->changes = 0;
    f->seconds = 0;
    f->since = 0;
    if (!f->rest && (f->slow >= enough || value[0] > far_slower))
        return FOLLOW_MEASURE;
    return f->probing && !f->probe ? FOLLOW_PROBE : FOLLOW_ON;
}

/* Calls of whose time `cost` is that share; at least so many. */
static uint32_t calls_for(const struct follow *f, double cost, double share, uint32_t least)
{
    double calls = f->per_call > 0 ? cost / (share * f->per_call) : least;

    return calls < least ? least : calls > MOST_REST ? MOST_REST : (uint32_t)calls;
}

static uint32_t calls_to_probe(const struct follow *f, double cost)
{
    return calls_for(f, cost, probes, PROBE_CALLS);
}

void follow_probed(struct follow *f, double cost)
{
    f->probing = calls_to_probe(f, cost);
    f->probe = f->probing;
}

void follow_measured(struct follow *f, int changed, int unequal, double cost, double probe)
{
    if (changed && !f->calls) {
        f->quiet = QUIET; /* the first time: a rail may fall before the first call */
    } else if (changed) {
        f->rest = (uint32_t)LEAST_REST << f->changes;
        f->changes += f->changes < MOST_CHANGES;
        f->vain = 0;
        f->quiet = QUIET;
    } else {
        f->rest = f->calls <= FIRST_CALLS ? LEAST_REST : (uint32_t)FIRST_REST << f->vain;
        if (f->vain >= FREE_VAIN)
            f->rest = calls_for(f, cost, vain_ones, f->rest);
        f->vain += f->vain < MOST_VAIN;
        if (f->least_of > f->beyond)
            f->beyond = f->least_of;
    }
    f->slow = 0;
    f->probing = unequal ? calls_to_probe(f, probe) : 0;
    f->probe = f->probing << (changed ? f->changes : f->vain) / 2;
    memset(f->of, 0, sizeof f->of); /* the next calls will show the usual time */
    memset(f->ratio, 0, sizeof f->ratio);
}
