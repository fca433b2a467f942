/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/collaborative/correct.h"

#include "planners/collaborative/split.h"

/* Of the later path's time: so close together is balanced, so far apart is worth another look. */
#define CLOSE 0.04
#define APART 0.15
enum { PATIENCE = 8 }; /* calls in a row that are apart */

void correction_begin(struct correction *c, int share)
{
    *c = (struct correction){
        .share = share, .best = share, .settled = share <= 0 || share >= SPLIT_WHOLE};
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* How much earlier the sooner path ends, of the later one's time. */
static double gap(double device, double host)
{
    return 1 - (device < host ? device / host : host / device);
}

/* Where both paths would end together, at least one step from either end. */
static int balanced(int share, double device, double host)
{
    double x = (double)share / SPLIT_WHOLE, whole_device = device / (1 - x), whole_host = host / x;
    int to = (int)(SPLIT_WHOLE * (whole_device / (whole_device + whole_host)) + 0.5);

    return to < 1 ? 1 : to >= SPLIT_WHOLE ? SPLIT_WHOLE - 1 : to;
}

static int move_to(struct correction *c, int share)
{
    int moved = share != c->share;

    c->share = share;
    c->calls = 0;
    return moved;
}

static int settle(struct correction *c)
{
    c->settled = 1;
    c->apart = 0;
    return move_to(c, c->best);
}

/* Of a settled share: have its paths been apart long enough to begin anew? */
static int drifted(struct correction *c, double device_seconds, double host_seconds)
{
    c->apart = gap(device_seconds, host_seconds) > APART ? (uint8_t)(c->apart + 1) : 0;
    return c->apart == PATIENCE;
}

int correction_note(struct correction *c, double device_seconds, double host_seconds)
{
    if (c->share <= 0 || c->share >= SPLIT_WHOLE)
        return 0;
    if (c->settled && !drifted(c, device_seconds, host_seconds))
        return 0;
    if (c->settled)
        correction_begin(c, c->share);
    c->device = c->calls ? smaller(c->device, device_seconds) : device_seconds;
    c->host = c->calls ? smaller(c->host, host_seconds) : host_seconds;
    if (++c->calls < CORRECT_CALLS)
        return 0;
    double later = c->device > c->host ? c->device : c->host;
    int to = balanced(c->share, c->device, c->host);
    if (!c->steps++ || later < c->least) {
        c->least = later;
        c->best = c->share;
    }
    if (c->steps > 1)
        to = (to + c->share) / 2;
    if (gap(c->device, c->host) <= CLOSE || c->steps == CORRECT_STEPS || to == c->share)
        return settle(c);
    return move_to(c, to);
}
