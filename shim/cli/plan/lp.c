/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Minimise T subject to two conditions. The parts of every message add up to it. The load of each
 * link, with the background, is at most capacity * T. Bytes are scaled so that the numbers are near
 * one.
 */
#include "shim/cli/plan/lp.h"

#include <errno.h>
#include <stdlib.h>

#ifdef COLLSHIM_GLPK
#include <glpk.h>

enum { MOST_COLUMNS = 20000 };

struct entry {
    int row, column;
    double value;
};

struct program {
    glp_prob *lp;
    struct entry *entry; /* [room] owned */
    int entries, room;
};

static int add_entry(struct program *p, int row, int column, double value)
{
    if (p->entries == p->room) {
        int room = 2 * p->room + 1024;
        struct entry *larger = realloc(p->entry, (size_t)room * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        p->entry = larger;
        p->room = room;
    }
    p->entry[p->entries++] = (struct entry){row, column, value};
    return 0;
}

/* GLPK wants three lists that begin at 1. */
static int load_entries(struct program *p)
{
    size_t n = (size_t)p->entries + 1;
    int *row = malloc(n * sizeof *row), *column = malloc(n * sizeof *column);
    double *value = malloc(n * sizeof *value);
    int rc = row && column && value ? 0 : -ENOMEM;

    for (int i = 0; !rc && i < p->entries; i++) {
        row[i + 1] = p->entry[i].row;
        column[i + 1] = p->entry[i].column;
        value[i + 1] = p->entry[i].value;
    }
    if (!rc)
        glp_load_matrix(p->lp, p->entries, row, column, value);
    free(row);
    free(column);
    free(value);
    return rc;
}

static int add_message(struct program *p, const struct balance_net *net, int from, int to,
                       double bytes, int npaths)
{
    int row = glp_add_rows(p->lp, 1), rc = 0;
    struct balance_path path;

    glp_set_row_bnds(p->lp, row, GLP_FX, bytes, bytes);
    for (int i = 0; !rc && i < npaths; i++) {
        if (!balance_path(net, from, to, i, &path))
            continue;
        int column = glp_add_cols(p->lp, 1);
        glp_set_col_bnds(p->lp, column, GLP_LO, 0, 0);
        rc = add_entry(p, row, column, 1);
        for (int l = 0; !rc && l < path.nlinks; l++)
            rc = add_entry(p, (int)path.link[l] + 1, column, 1);
    }
    return rc;
}

static int fill(struct program *p, const struct balance_net *net, const uint64_t *demand,
                uint64_t split_bytes, double scale, double rate)
{
    int nranks = net->t->nranks, rc = 0;

    glp_add_rows(p->lp, (int)net->nlinks);
    glp_add_cols(p->lp, 1); /* T */
    glp_set_obj_coef(p->lp, 1, 1);
    glp_set_col_bnds(p->lp, 1, GLP_LO, 0, 0);
    for (int l = 0; !rc && l < (int)net->nlinks; l++) {
        glp_set_row_bnds(p->lp, l + 1, GLP_UP, 0, -net->background[l] / scale);
        rc = add_entry(p, l + 1, 1, -net->capacity[l] / rate);
    }
    for (int from = 0; !rc && from < nranks; from++)
        for (int to = 0; !rc && to < nranks; to++) {
            uint64_t bytes = from == to ? 0 : demand[(size_t)from * (size_t)nranks + (size_t)to];
            if (bytes)
                rc = add_message(p, net, from, to, (double)bytes / scale,
                                 bytes <= split_bytes ? 1 : balance_npaths(net, from, to));
        }
    return rc;
}

int lp_congestion(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                  double *congestion)
{
    struct program p = {.lp = NULL};
    size_t pairs = (size_t)net->t->nranks * (size_t)net->t->nranks;
    double scale = 1, rate = net->capacity[2];
    glp_smcp how;

    for (size_t i = 0; i < pairs; i++)
        scale = (double)demand[i] > scale ? (double)demand[i] : scale;
    if (pairs * (size_t)(1 + net->nrails) > MOST_COLUMNS)
        return -E2BIG;
    p.lp = glp_create_prob();
    int rc = fill(&p, net, demand, split_bytes, scale, rate);
    if (!rc)
        rc = load_entries(&p);
    if (!rc) {
        glp_init_smcp(&how);
        how.msg_lev = GLP_MSG_OFF;
        how.presolve = GLP_OFF; /* with it, answers are off by up to 0.1% */
        rc = glp_simplex(p.lp, &how) || glp_get_status(p.lp) != GLP_OPT ? -EDOM : 0;
    }
    if (!rc)
        *congestion = glp_get_obj_val(p.lp) * scale / rate;
    glp_delete_prob(p.lp);
    free(p.entry);
    return rc;
}

#else

int lp_congestion(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                  double *congestion)
{
    (void)net, (void)demand, (void)split_bytes, (void)congestion;
    return -ENOSYS;
}

#endif
