/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/belief.h"

enum { N = EVIDENCE_ARMS };

/* Standard deviations of logarithms. */
static const double any_time = 10;   /* of all contenders together */
static const double next_class = .2; /* of reroutes together, from one class to the next */

static const double model_all = .7;  /* of all reroutes, against the library */
static const double model_each = .4; /* of each, against the model's prediction */

static double square(double x)
{
    return x * x;
}

void belief_begin(struct belief *b, const double *predicted, int n)
{
    double least = predicted[1];

    for (int i = 2; i < n; i++)
        least = predicted[i] < least ? predicted[i] : least;
    b->n = n;
    for (int i = 0; i < n; i++) {
        b->mean[i] = i ? predicted[i] - least : 0;
        for (int k = 0; k < n; k++)
            b->cov[i][k] = square(any_time) + (i && k ? square(model_all) : 0) +
                           (i && i == k ? square(model_each) : 0);
    }
}

void belief_carry(struct belief *b)
{
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < b->n; k++)
            b->cov[i][k] += square(any_time) + (i && k ? square(next_class) : 0) +
                            (i && i == k ? square(belief_drift) : 0);
}

/* The evidence of samples: precisions of the contenders, and these times the values. The level of a
   round is unknown, and drops out of the sums. */
static void weigh_samples(const struct samples *s, const int *to, double precision[N][N],
                          double value[N])
{
    for (int r = 0; r < s->rounds; r++) {
        double w[N] = {0}, y[N] = {0}, weight = 0, sum = 0;
        int arm[N] = {0}, n = 0;

        for (int i = 0; i < N; i++)
            if (s->in[r] & 1u << i && to[i] >= 0) {
                arm[n] = to[i];
                w[n] = 1 / s->variance[i];
                y[n] = s->log[r][i];
                weight += w[n];
                sum += w[n] * y[n];
                n++;
            }
        double shared = square(belief_drift) / (1 + square(belief_drift) * weight);
        for (int k = 0; k < n; k++) {
            value[arm[k]] += w[k] * (y[k] - shared * sum);
            precision[arm[k]][arm[k]] += w[k];
            for (int l = 0; l < n; l++)
                precision[arm[k]][arm[l]] -= shared * w[k] * w[l];
        }
    }
}

/* Solve the n rows of a, by elimination: the left half becomes the identity. */
static void eliminate(double a[N][2 * N], int n)
{
    for (int i = 0; i < n; i++) {
        int pivot = i;

        for (int k = i + 1; k < n; k++)
            if (square(a[k][i]) > square(a[pivot][i]))
                pivot = k;
        for (int j = i; j < 2 * n; j++) {
            double x = a[pivot][j];
            a[pivot][j] = a[i][j];
            a[i][j] = x;
        }
        double by = 1 / a[i][i];
        for (int j = i; j < 2 * n; j++)
            a[i][j] *= by;
        for (int k = 0; k < n; k++) {
            double factor = a[k][i];
            for (int j = i; k != i && j < 2 * n; j++)
                a[k][j] -= factor * a[i][j];
        }
    }
}

/* The product of two normal distributions: cov' = (1 + cov P)^-1 cov, mean' = mean + cov' (v - P
   mean). */
void belief_learn(struct belief *b, const struct samples *s, const int to[EVIDENCE_ARMS])
{
    double precision[N][N] = {{0}}, value[N] = {0}, a[N][2 * N];
    int n = b->n;

    weigh_samples(s, to, precision, value);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double x = i == j;

            for (int k = 0; k < n; k++)
                x += b->cov[i][k] * precision[k][j];
            a[i][j] = x;
            a[i][n + j] = b->cov[i][j];
            value[i] -= precision[i][j] * b->mean[j];
        }
    eliminate(a, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            b->cov[i][j] = a[i][n + j];
            b->mean[i] += b->cov[i][j] * value[j];
        }
}

struct estimate belief_compare(const struct belief *b, int i, int k)
{
    double v = b->cov[i][i] + b->cov[k][k] - 2 * b->cov[i][k];

    return (struct estimate){
        b->mean[i] - b->mean[k],
        i == k ? 0 : evidence_root(v > square(belief_finest) ? v : square(belief_finest))};
}
