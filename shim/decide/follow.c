/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs. An agreement takes a 250th of the calls' time. Measurements in vain come 8, 16
 * ... 1,024 agreements apart: at most 7 in the first 3,000 calls and then one in 3,000. Those that
 * find a change come 1, 2, 4 ... 64 agreements apart while changes follow each other within 100
 * agreements. So a rail that flaps has the plan that suits one of its states for up to 200 calls,
 * and costs a measurement in as many. A probe comes every 32 calls, or so rarely that it costs a
 * 250th of their time.
 */
#include "shim/decide/follow.h"

#include <string.h>

enum { FIRST_AGREED = 2, MOST_APART = 256, PROBE_CALLS = 32, MOST_PROBE_CALLS = 4096 };
enum { FIRST_REST = 8, MOST_VAIN = 7, MOST_CHANGES = 6, QUIET = 100 };

static const double agreements = .004; /* share of the calls' time */
static const double probes = .004;
static const double slower = 1.3; /* than usual, on the rank that sees most of it, twice in a row */
static const double far_slower = 4; /* once is enough */
static const double faster = .85;
static const double weight = .125; /* of a call in what is usual */

/* Where the kind's usual time is kept; kinds beyond the first push others out. */
static struct follow_kind *kind_of(struct follow *f, uint32_t key)
{
    uint32_t at = key % FOLLOW_KINDS;

    for (int i = 0; i < 4; i++, at = (at + 1) % FOLLOW_KINDS)
        if (!f->of[at].key || f->of[at].key == key)
            break;
    if (f->of[at].key != key)
        f->of[at] = (struct follow_kind){.key = key};
    return &f->of[at];
}

void follow_call(struct follow *f, uint32_t key, double seconds, double work)
{
    struct follow_kind *k = kind_of(f, key);

    f->now = work > 0 ? seconds / work : 0;
    f->key = key;
    f->ratio[1] = f->ratio[0];
    f->ratio[0] = k->agreed < FIRST_AGREED || !(k->usual > 0) ? 0 : f->now / k->usual;
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
    return f->since >= (f->apart ? f->apart : FOLLOW_LEAST_APART);
}

/* The lesser ratio of the last two calls, or what the last one alone says; the least time that
   agreeing took on any rank, since the others waited for the last one; the calls' time, and the
   last one's by its work. */
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
    double calls = call > 0 ? agreement / (agreements * call) : MOST_APART;

    return calls < FOLLOW_LEAST_APART ? FOLLOW_LEAST_APART
           : calls > MOST_APART       ? MOST_APART
                                      : (uint32_t)calls + 1;
}

enum follow_turn follow_hear(struct follow *f, const double value[FOLLOW_VALUES], double agreement)
{
    int slow = value[0] > slower;

    if (-value[1] > 0)
        f->apart = apart(-value[1], value[2]);
    /* The shortest lately: others are long because a rank came late. */
    f->agreement =
        f->agreement > 0 && agreement > 1.1 * f->agreement ? 1.1 * f->agreement : agreement;
    f->per_call = value[2];
    learn(f, value[3]);
    f->seconds = 0;
    f->since = 0;
    f->rest -= f->rest > 0;
    if (f->quiet < QUIET && ++f->quiet == QUIET)
        f->changes = 0;
    if (slow && !f->rest)
        return FOLLOW_MEASURE;
    return f->probing && !f->probe ? FOLLOW_PROBE : FOLLOW_ON;
}

void follow_probed(struct follow *f, double cost)
{
    double calls = f->per_call > 0 ? cost / (probes * f->per_call) : MOST_PROBE_CALLS;

    f->probing = calls < PROBE_CALLS        ? PROBE_CALLS
                 : calls > MOST_PROBE_CALLS ? MOST_PROBE_CALLS
                                            : (uint32_t)calls;
    f->probe = f->probing;
}

void follow_measured(struct follow *f, int changed, int unequal)
{
    if (changed) {
        f->rest = 1u << f->changes;
        f->changes += f->changes < MOST_CHANGES;
        f->vain = 0;
        f->quiet = 0;
    } else {
        f->rest = (uint32_t)FIRST_REST << f->vain;
        f->vain += f->vain < MOST_VAIN;
    }
    f->probing = !unequal ? 0 : f->probing ? f->probing : PROBE_CALLS;
    f->probe = f->probing << (changed ? 0 : f->vain / 2);
    memset(f->of, 0, sizeof f->of); /* what is usual now, the next calls will show */
    memset(f->ratio, 0, sizeof f->ratio);
}
