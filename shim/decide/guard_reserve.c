/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard_reserve.h"

#include <math.h>
#include <string.h>

#include "planners/variants.h"

static const double allowance = 1;     /* calls that trials of those in reserve may lose, and ... */
static const double share = .006;      /* ... of all calls */
static const double model_spread = .7; /* of an algorithm of the library against its prediction */
static const double near_spread = .3;  /* of the same from one class to a near one */
static const double as_fast = .1;    /* logarithm: an earlier job's finding that is worth a place */
static const double most_lost = 20;  /* calls: what took longer was held up */
static const double most_behind = 6; /* logarithm: no prediction is worse */

uint8_t guard_kind_of(const struct plan_candidate *c)
{
    return plan_variant_of(c->algorithm) ? BELIEF_LIBRARY : BELIEF_OURS;
}

void guard_reserve(struct guard_entry *e, const struct plan_candidate *c, int n, uint32_t before)
{
    struct guard_reserve *r = &e->reserve;

    *r = (struct guard_reserve){.before = before};
    for (int i = 0; i < n && r->n < GUARD_RESERVES; i++)
        if (c[i].seconds > 0 && isfinite(c[i].seconds))
            r->way[r->n++] = c[i];
}

const struct plan_candidate *guard_way(const struct guard_entry *e, int i)
{
    return i < GUARD_CONTENDERS
               ? (i > 0 && i < e->n ? &e->reroute[i - 1] : NULL)
               : (i - GUARD_CONTENDERS < e->reserve.n ? &e->reserve.way[i - GUARD_CONTENDERS]
                                                      : NULL);
}

/* By the model. Its prediction is set against the times that others of its kind took, or else
   against the library's own choice, which is taken for as good as the best of them. */
static struct estimate by_model(const struct guard_entry *e, const struct view *v, int i)
{
    double predicted = evidence_ln(e->reserve.way[i].seconds), least = predicted, off = 0;
    int n = 0;

    for (int k = 1; k < e->n; k++) {
        if (e->kind[k] != guard_kind_of(&e->reserve.way[i]) || !worth_is_known(v, k))
            continue;
        off += worth_belief(v, k, 0).mean - e->predicted[k];
        n++;
    }
    for (int k = 0; k < e->reserve.n; k++) {
        double other = evidence_ln(e->reserve.way[k].seconds);
        least = other < least ? other : least;
    }
    double mean = predicted + (n ? off / n : worth_belief(v, GUARD_NATIVE, 0).mean - least);
    return (struct estimate){mean < most_behind ? mean : most_behind, model_spread};
}

/* As a near class has found it, against the library, if one has. */
static struct estimate by_near(const struct guard *g, const struct guard_entry *e, int i)
{
    struct estimate found = {0};

    for (int distance = WORTH_NEAR; distance > 0; distance--)
        for (const struct guard_entry *o = g->entry; o < g->entry + GUARD_ENTRIES; o++) {
            if (!o->n || worth_apart(g, e, o) != distance)
                continue;
            for (int k = 1; k < GUARD_KNOWN; k++) {
                const struct plan_candidate *way = guard_way(o, k);
                struct estimate of =
                    k < GUARD_CONTENDERS ? o->found[k] : o->reserve.found[k - GUARD_CONTENDERS];
                if (way && of.spread > 0 && worth_same(way, &e->reserve.way[i]))
                    found = (struct estimate){of.mean, near_spread};
            }
        }
    return found;
}

/* Has it been a contender of any class? Then it is ready. */
static int is_ready(const struct guard *g, const struct plan_candidate *way)
{
    for (const struct guard_entry *o = g->entry; o < g->entry + GUARD_ENTRIES; o++)
        for (int k = 1; k < o->n; k++)
            if (o->evidence.tries[k] && worth_same(guard_way(o, k), way))
                return 1;
    return 0;
}

/* The likely loss by a trial, in calls of the one in use. */
static double price(const struct guard *g, const struct guard_entry *e, const struct view *v, int i)
{
    struct estimate near = by_near(g, e, i), d = by_model(e, v, i);

    if (near.spread > 0)
        d = (struct estimate){near.mean + worth_belief(v, GUARD_NATIVE, 0).mean, near.spread};
    int calls = 1 + worth_first_tells_little(e);

    return calls * worth_price(d) + e->cold +
           (is_ready(g, &e->reserve.way[i]) ? 1 : 1 + WORTH_MAKING) * e->agreeing;
}

/* The place for a newcomer: a free one, or that of the slowest. 0: none. */
static int place_for(const struct guard_entry *e, const struct view *v)
{
    int slowest = 0;
    double most = 0;

    if (e->n < GUARD_CONTENDERS)
        return e->n;
    for (int i = 1; i < e->n; i++) {
        if (i == e->best || i == e->verdict.rival)
            continue;
        double behind = e->out & 1u << i ? INFINITY : worth_belief(v, i, 0).mean;
        if ((worth_is_known(v, i) || e->out & 1u << i) && (!slowest || behind > most)) {
            slowest = i;
            most = behind;
        }
    }
    return slowest;
}

/* Number `from` of the reserve takes the place; what had it goes into the reserve. */
static void take_place(struct guard_entry *e, int from, int place)
{
    struct guard_reserve *r = &e->reserve;
    struct plan_candidate way = r->way[from];

    if (place < e->n) {
        r->way[from] = e->reroute[place - 1];
        r->found[from] = e->found[place];
        if (!(r->found[from].spread > 0)) /* it cannot serve, or no call of it counts */
            r->found[from] = (struct estimate){most_behind, model_spread};
        evidence_forget_arm(&e->evidence, place);
    } else {
        e->n++;
        r->n--;
        r->way[from] = r->way[r->n];
        r->found[from] = r->found[r->n];
    }
    e->reroute[place - 1] = way;
    e->predicted[place] = evidence_ln(way.seconds);
    e->kind[place] = guard_kind_of(&way);
    e->recalled[place] = e->found[place] = (struct estimate){0};
    e->seen[place] = e->again_at[place] = 0;
    e->out &= (uint8_t) ~(1u << place);
    e->steady &= (uint8_t) ~(1u << place);
    e->discarded &= (uint8_t) ~(1u << place);
    e->prior.n = 0; /* to be made anew */
}

int guard_reserve_admit(const struct guard *g, struct guard_entry *e, struct view *v)
{
    const struct guard_reserve *r = &e->reserve;
    double least = allowance + share * ((double)e->calls + r->before) - r->spent;
    int next = -1, place;

    if (e->later || v->spared)
        return 0;
    for (int i = 0; i < r->n && least > 0; i++) {
        if (r->found[i].spread > 0)
            continue;
        double lost = price(g, e, v, i);
        if (lost < least) {
            least = lost;
            next = i;
        }
    }
    if (next < 0 || !(place = place_for(e, v)))
        return 0;
    take_place(e, next, place);
    worth_view(g, e, v);
    return place;
}

void guard_reserve_learn(struct guard_entry *e, double lost)
{
    struct guard_reserve *r = &e->reserve;

    lost = lost < 0 ? 0 : lost < most_lost ? lost : most_lost;
    r->spent += lost;
    double calls = (r->spent + lost - allowance) / share - r->before;
    e->again_at[e->newcomer] = calls > 0 ? (uint32_t)calls : 0;
    e->newcomer = 0;
}

/* A place that is free, or of one that is slower by what earlier jobs found, or unknown. */
static int place_by(const struct guard_entry *e, const struct estimate *known, double mean)
{
    int slowest = 0;

    if (e->n < GUARD_CONTENDERS)
        return e->n;
    for (int i = 1; i < e->n; i++) {
        if (!(known[i].spread > 0))
            return i;
        if (!slowest || known[i].mean > known[slowest].mean)
            slowest = i;
    }
    return known[slowest].mean > mean ? slowest : 0;
}

void guard_reserve_recall(struct guard_entry *e, struct estimate known[GUARD_KNOWN])
{
    struct guard_reserve *r = &e->reserve;
    double least = 0; /* the library's */

    for (int i = 1; i < GUARD_KNOWN; i++)
        if (known[i].spread > 0 && known[i].mean < least)
            least = known[i].mean;
    for (int i = 0; i < r->n; i++)
        r->found[i] = known[GUARD_CONTENDERS + i];
    for (int i = r->n - 1; i >= 0; i--) {
        struct estimate d = r->found[i];
        int place = d.spread > 0 && d.mean < least + as_fast ? place_by(e, known, d.mean) : 0;

        if (!place)
            continue;
        e->found[place] = place < e->n ? known[place] : (struct estimate){0};
        int was_unknown = place < e->n && !(e->found[place].spread > 0);
        take_place(e, i, place);
        if (was_unknown) /* nothing is known of it: it comes later */
            r->found[i] = (struct estimate){0};
        known[place] = d;
    }
}

void guard_reserve_forget(struct guard_entry *e)
{
    memset(e->reserve.found, 0, sizeof e->reserve.found);
}
