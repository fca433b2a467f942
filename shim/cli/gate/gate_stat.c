/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/gate/gate_stat.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double tiny = 1e-6; /* no error is less: times are exact to that */

struct test {
    const double *value;
    unsigned char *order; /* [rows][n] a row's runs, the fastest first */
    unsigned char side[2 * GATE_RUNS];
    double *error, *sorted, *t; /* [rows] */
    int rows, n;
    uint64_t random;
};

/* The mean without the slowest quarter of sorted values, and the square of its standard error. With
   one value nothing is known of the error. */
static double locate(const double *x, int n, double *error2)
{
    int kept = n < 4 ? n : n - (n + 1) / 4;
    double sum = 0, all = 0, squares = 0;

    for (int i = 0; i < n; i++) {
        double held = x[i < kept ? i : kept - 1];

        sum += i < kept ? held : 0;
        all += held;
    }
    for (int i = 0; i < n; i++)
        squares += pow(x[i < kept ? i : kept - 1] - all / n, 2);
    *error2 = kept > 1 ? squares / kept / (kept - 1) : 0;
    return sum / kept;
}

/* By a row's runs, as they are on sides now. */
static void locate_row(const struct test *t, int row, struct gate_change *c)
{
    double x[2][2 * GATE_RUNS] = {{0}}, error2[2];
    int n[2] = {0};

    for (int i = 0; i < t->n; i++) {
        int run = t->order[row * t->n + i], side = t->side[run];

        x[side][n[side]++] = t->value[row * t->n + run];
    }
    for (int s = 0; s < 2; s++)
        c->side[s] = locate(x[s], n[s], &error2[s]);
    c->change = c->side[1] - c->side[0];
    c->error = sqrt(error2[0] + error2[1]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* t->t: change through error. The median error of all rows is a floor under each row's: an error of
   a few runs is small by chance. */
static void studentise(struct test *t)
{
    struct gate_change c;

    for (int r = 0; r < t->rows; r++) {
        locate_row(t, r, &c);
        t->t[r] = c.change;
        t->error[r] = t->sorted[r] = c.error;
    }
    qsort(t->sorted, (size_t)t->rows, sizeof *t->sorted, by_value);
    double floor = t->sorted[t->rows / 2] + tiny;
    for (int r = 0; r < t->rows; r++)
        t->t[r] /= hypot(t->error[r], floor);
}

static void shuffle(struct test *t)
{
    for (int i = t->n - 1; i > 0; i--) {
        t->random = t->random * 6364136223846793005u + 1442695040888963407u;
        int k = (int)((t->random >> 33) % (uint64_t)(i + 1));
        unsigned char side = t->side[i];

        t->side[i] = t->side[k];
        t->side[k] = side;
    }
}

static void start(struct test *t, int base)
{
    for (int i = 0; i < t->n; i++)
        t->side[i] = i >= base;
    t->random = 1;
}

static double largest(const struct test *t, double sign)
{
    double most = sign * t->t[0];

    for (int r = 1; r < t->rows; r++)
        most = fmax(most, sign * t->t[r]);
    return most;
}

/* p[rows]: of each row that it is slower (sign 1) or faster (-1). Draws end once none can be sure.
 */
static void draw(struct test *t, int base, double sign, double *seen, double *p)
{
    int draws = 0, fewest = 0;

    start(t, base);
    studentise(t);
    double best = largest(t, sign);
    memcpy(seen, t->t, (size_t)t->rows * sizeof *seen);
    for (int r = 0; r < t->rows; r++)
        p[r] = 1;
    for (; draws < GATE_DRAWS && fewest < GATE_HITS; draws++) {
        shuffle(t);
        studentise(t);
        double most = largest(t, sign) + tiny;
        fewest += most >= best;
        for (int r = 0; r < t->rows; r++)
            p[r] += most >= sign * seen[r];
    }
    for (int r = 0; r < t->rows; r++)
        p[r] /= draws + 1;
}

/* The z that a standard normal exceeds with probability p. */
static double quantile(double p)
{
    double low = 0, high = 10;

    for (int i = 0; i < 40; i++) {
        double z = (low + high) / 2;

        *(erfc(z / sqrt(2)) / 2 > p ? &low : &high) = z;
    }
    return low;
}

static void judge(struct gate_change *c, int rows, int base, int new, double loss)
{
    double runs = 2. * base * new / (base + new), ways = 1;
    double doubt = (quantile(gate_sure / rows) + quantile(.05)) * c->error / loss;
    double needed = runs * doubt * doubt + 3;

    for (int i = 1; i <= new; i++)
        ways *= (double)(base + i) / i;
    c->needed = c->error > 0 && needed < 1e6 ? (int)fmax(5, ceil(needed)) : 0;
    if (c->slower <= gate_sure && c->change >= loss / 2)
        c->verdict = GATE_SLOWER;
    else if (c->faster <= gate_sure && c->change <= -loss / 2)
        c->verdict = GATE_FASTER;
    else if (ways * gate_sure >= 1 && fabs(c->change) + 2 * c->error < loss)
        c->verdict = GATE_SAME;
    else
        c->verdict = GATE_UNSURE;
}

static void sort_runs(struct test *t)
{
    for (int r = 0; r < t->rows; r++) {
        unsigned char *order = t->order + (size_t)r * (size_t)t->n;
        const double *value = t->value + (size_t)r * (size_t)t->n;

        for (int i = 0, k; i < t->n; i++) {
            for (k = i; k > 0 && value[order[k - 1]] > value[i]; k--)
                order[k] = order[k - 1];
            order[k] = (unsigned char)i;
        }
    }
}

int gate_compare(const double *value, int rows, int base, int new, double loss,
                 struct gate_change *change)
{
    struct test t = {.value = value, .rows = rows, .n = base + new};
    size_t n = (size_t)rows;
    double *room = rows ? calloc(6 * n, sizeof *room) : NULL;

    t.order = rows ? calloc(n, (size_t)t.n) : NULL;
    if (rows && room && t.order) {
        double *slower = room + 4 * n, *faster = room + 5 * n;
        t.error = room;
        t.sorted = room + n;
        t.t = room + 2 * n;
        sort_runs(&t);
        draw(&t, base, 1, room + 3 * n, slower);
        draw(&t, base, -1, room + 3 * n, faster);
        start(&t, base);
        for (int r = 0; r < rows; r++) {
            locate_row(&t, r, &change[r]);
            change[r].slower = slower[r];
            change[r].faster = faster[r];
            judge(&change[r], rows, base, new, loss);
        }
    }
    int rc = rows && !(room && t.order) ? -ENOMEM : 0;
    free(room);
    free(t.order);
    return rc;
}
