/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/collaborative/correct.h"

#include "planners/algorithms/collaborative/split.h"

/* Parts of the later path's time. Paths this close are balanced; paths this far apart are worth
   another look. */
#define CLOSE 0.04
#define APART 0.15
enum { APART_CALLS = 8 }; /* in a row */
enum { FIRST_REST = 1000, RARER = 4, LONGEST_REST = 16000 };

void correction_begin(struct correction *c, int share)
{
    *c = (struct correction){.share = share ? share : CORRECT_PROBE,
                             .patience = FIRST_REST,
                             .settled = share >= SPLIT_WHOLE};
}

void correction_resume(struct correction *c, int share)
{
    *c = (struct correction){
        .share = share, .patience = FIRST_REST, .rest = FIRST_REST, .settled = 1};
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double later(const struct correction *c)
{
    return c->device > c->host ? c->device : c->host;
}

/* How much earlier the sooner path ends, of the later one's time. */
static double gap(double device, double host)
{
    return 1 - (device < host ? device / host : host / device);
}

/* The next share, at least one step from either end. The devices' time is in proportion to their
   part; the host's follows the line through its last two times. The next share is where they meet.
 */
static int balanced(const struct correction *c)
{
    double x = (double)c->share / SPLIT_WHOLE, device = c->device / (1 - x);
    double step = x - (double)c->last / SPLIT_WHOLE, host = (c->host - c->last_host) / step;

    if (!c->last || !(host > 0))
        host = c->host / x;
    int to = (int)(SPLIT_WHOLE * (device - c->host + host * x) / (device + host) + 0.5);
    return to < 1 ? 1 : to >= SPLIT_WHOLE ? SPLIT_WHOLE - 1 : to;
}

static int move_to(struct correction *c, int share)
{
    int moved = share != c->share;

    c->last = c->share;
    c->last_host = c->host;
    c->share = share;
    c->calls = 0;
    return moved;
}

static int settle(struct correction *c)
{
    c->settled = 1;
    c->apart = 0;
    c->rest = c->patience;
    return move_to(c, c->best);
}

/* Should a settled share be corrected again? Returns 1 if the share has changed. */
static int look_again(struct correction *c, double device_seconds, double host_seconds)
{
    int before = c->share, patience = c->patience * RARER;

    if (c->share >= SPLIT_WHOLE)
        return 0;
    if (!c->share) {
        if (c->rest--)
            return 0;
        correction_begin(c, 0);
        c->patience = (uint16_t)(patience < LONGEST_REST ? patience : LONGEST_REST);
        return 1;
    }
    c->apart = gap(device_seconds, host_seconds) > APART ? (uint8_t)(c->apart + 1) : 0;
    if (c->apart == APART_CALLS)
        correction_begin(c, before);
    return 0;
}

int correction_note(struct correction *c, double device_seconds, double host_seconds)
{
    if (c->settled)
        return look_again(c, device_seconds, host_seconds);
    c->device = c->calls ? smaller(c->device, device_seconds) : device_seconds;
    c->host = c->calls ? smaller(c->host, host_seconds) : host_seconds;
    if (++c->calls < CORRECT_CALLS)
        return 0;
    if (!c->steps++ || later(c) < c->least) {
        c->least = later(c);
        c->best = c->share;
    }
    if (!c->share)
        return settle(c);
    int to = balanced(c);
    if (gap(c->device, c->host) <= CLOSE || c->steps == CORRECT_STEPS || to == c->share)
        to = 0;
    return move_to(c, to);
}
