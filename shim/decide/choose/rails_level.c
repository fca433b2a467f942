/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/choose/rails_level.h"

#include <float.h>
#include <stdlib.h>

enum { LUCKY_OF = 8 }; /* so many rates: a single one above all others is an error */
enum { ALIKE = 75 };   /* percent: the slowest to the fastest rail, if all are equal */
const double rails_slow_from = ALIKE / 100.;
static const double alike = ALIKE / 100.;
static const double told_apart = 0.9;               /* one rate to the next */
static const double other = 1.3;                    /* times as fast, or as slow, is another rate */
static const double rough = .45, other_rough = 1.7; /* of slow rails, measured with few bytes */
static const double hardly_used = .03;              /* of the fastest rail's rate */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The values above 0, in order. Returns how many. */
static size_t sort_known(const double *value, int n, double *room)
{
    size_t known = 0;

    for (int i = 0; i < n; i++)
        if (value[i] > 0)
            room[known++] = value[i];
    qsort(room, known, sizeof *room, ascending);
    return known;
}

double rails_median(const double *value, int n, double *room)
{
    size_t known = sort_known(value, n, room);

    return known ? (room[known / 2] + room[(known - 1) / 2]) / 2 : 0;
}

double rails_lower_median(const double *value, int n, double *room)
{
    size_t known = sort_known(value, n, room);

    return known ? room[(known - 1) / 2] : 0;
}

static double greatest(const double *rate, int n)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = rate[i] > most ? rate[i] : most;
    return most;
}

int rails_alike(const double *rate, int n)
{
    double most = greatest(rate, n);

    for (int i = 0; i < n; i++)
        if (rate[i] > 0 && rate[i] < alike * most)
            return 0;
    return 1;
}

/* The end of the run of values from `first` on that measuring cannot tell apart; sum: theirs.
   value: ascending. */
static int end_of_level(const double *value, int n, int first, double *sum)
{
    int end = first;

    for (*sum = 0; end < n && value[first] >= alike * value[end] &&
                   (end == first || value[end - 1] >= told_apart * value[end]);
         end++)
        *sum += value[end];
    return end;
}

static void set_between(double *rate, int n, double low, double high, double to)
{
    for (int i = 0; i < n; i++)
        if (rate[i] >= low && rate[i] <= high)
            rate[i] = to;
}

void rails_level(double *rate, int n, double *room)
{
    double usual = rails_median(rate, n, room), mean = 0, sum;

    for (int i = 0; i < n; i++)
        room[i] = rate[i] = rate[i] > 0 ? rate[i] : usual;
    qsort(room, (size_t)n, sizeof *room, ascending);
    for (int first = 0, end; first < n; first = end) {
        end = end_of_level(room, n, first, &sum);
        int lucky = first > 0 && end - first == 1 && end == n && n >= LUCKY_OF;

        mean = lucky ? mean : sum / (end - first);
        set_between(rate, n, room[first], room[end - 1], mean);
    }
}

double rails_share(const double *rate, int n, int i)
{
    double most = greatest(rate, n);

    return most > 0 ? rate[i] / most : 1;
}

double rails_times(const double *before, const double *now, int n, int i)
{
    double was = rails_share(before, n, i), is = rails_share(now, n, i);

    was = was < hardly_used ? hardly_used : was;
    is = is < hardly_used ? hardly_used : is;
    double times = is > was ? is / was : was / is;
    double least = (is < was ? is : was) < rough ? other_rough : other;
    return times > least ? times : 1;
}

int rails_changed(const double *before, const double *now, int n)
{
    for (int i = 0; i < n; i++)
        if (rails_times(before, now, n, i) > 1)
            return 1;
    return 0;
}

/* The time of a node whose rails carry equal parts, one way, if each byte of all rails takes 1. */
static double even_use(const struct topo *t, int node, enum topo_way way)
{
    double sum = 0, least = DBL_MAX;

    for (int r = 0; r < t->nrails; r++) {
        double rate = topo_rail_rate(t, node, r, way);

        sum += rate;
        least = rate < least ? rate : least;
    }
    return least > 0 ? sum / t->nrails / least : 1;
}

double rails_even_use(const struct topo *t)
{
    double most = 1;

    for (int node = 0; node < (t->rate ? t->nnodes : 1); node++)
        for (int way = TOPO_OUT; way <= TOPO_IN; way++) {
            double times = even_use(t, node, (enum topo_way)way);

            most = times > most ? times : most;
        }
    return most;
}
