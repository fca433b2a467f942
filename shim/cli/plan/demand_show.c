/* SPDX-License-Identifier: BSD-3-Clause */
/* How an exchange is split, for people. The busiest links and the largest messages are enough. */
#include "shim/cli/plan/demand.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "config/settings/settings.h"
#include "planners/algorithms/nimble/nimble.h"
#include "planners/links/load.h"
#include "shim/cli/plan/lp.h"

enum { LINKS = 16, MESSAGES = 16 };

struct split {
    const struct plan_request *q;
    struct balance_net net;
    struct balance balanced, uniform, direct;
};

/* Rates known: congestion is a time; else bytes of one rail. */
static void print_way(const struct split *s, const char *name, double congestion, double relayed)
{
    int known = load_rates_known(s->q->topo);
    double total = (double)plan_total_bytes(s->q);

    printf("%-22s %12.6g %-5s %9.3f", name, known ? congestion * 1e3 : congestion,
           known ? "ms" : "bytes", congestion > 0 ? congestion / s->balanced.congestion : 1);
    if (relayed >= 0)
        printf(" %8.1f%%", total > 0 ? 100 * relayed / total : 0);
    putchar('\n');
}

static void print_ways(const struct split *s)
{
    double optimum;
    int rc = lp_congestion(&s->net, s->q->demand, nimble_options(s->q).split_bytes, &optimum);

    printf("%-22s %12s %-5s %9s %9s\n", "WAY", "CONGESTION", "", "RATIO", "RELAYED");
    print_way(s, "balanced", s->balanced.congestion, (double)s->balanced.relayed);
    print_way(s, "striped evenly", s->uniform.congestion, (double)s->uniform.relayed);
    print_way(s, "direct", s->direct.congestion, (double)s->direct.relayed);
    if (!rc)
        print_way(s, "optimum (exact)", optimum, -1);
    else
        printf("%-22s %s\n", "optimum (exact)",
               rc == -ENOSYS  ? "not computed: built without GLPK"
               : rc == -E2BIG ? "not computed: too large"
                              : "not computed: GLPK found none");
    print_way(s, "proven at least", s->balanced.bound, -1);
}

static double busy(const struct split *s, const struct balance *b, uint32_t link)
{
    return b->load[link] / s->net.capacity[link];
}

/* The links by how busy they are, the busiest first, and by number where they are alike. */
static void print_links(const struct split *s)
{
    char name[64], *shown = calloc(s->net.nlinks, 1);
    double worst = s->balanced.congestion;

    printf("\n%-22s %14s %9s %9s %9s\n", "LINK", "BYTES", "BALANCED", "EVENLY", "DIRECT");
    for (int row = 0; shown && row < LINKS; row++) {
        uint32_t best = 0;

        for (uint32_t l = 2; l < s->net.nlinks; l++)
            if (!shown[l] && (!best || busy(s, &s->balanced, l) > busy(s, &s->balanced, best)))
                best = l;
        if (!best || s->balanced.load[best] <= 0)
            break;
        shown[best] = 1;
        printf("%-22s %14.0f %9.3f %9.3f %9.3f\n",
               balance_link_text(&s->net, best, name, sizeof name), s->balanced.load[best],
               busy(s, &s->balanced, best) / worst, busy(s, &s->uniform, best) / worst,
               busy(s, &s->direct, best) / worst);
    }
    free(shown);
}

static uint64_t message_bytes(const struct split *s, const struct balance_piece *p)
{
    return s->q->demand[(size_t)p->from * (size_t)s->q->topo->nranks + (size_t)p->to];
}

static int is_first(const struct balance *b, uint32_t i)
{
    const struct balance_piece *p = &b->piece[i];

    return !i || p[-1].from != p->from || p[-1].to != p->to;
}

static void print_message(const struct split *s, uint32_t i)
{
    const struct balance *b = &s->balanced;
    uint64_t bytes = message_bytes(s, &b->piece[i]);
    char size[32];

    cfg_print_bytes(bytes, size, sizeof size);
    printf("%-6d %-6d %12s  ", b->piece[i].from, b->piece[i].to, size);
    for (uint32_t first = i; i == first || (i < b->npieces && !is_first(b, i)); i++) {
        const struct balance_piece *p = &b->piece[i];

        printf("%s%.0f%%", i == first ? "" : ", ", 100.0 * (double)p->bytes / (double)bytes);
        if (p->out_relay < 0 && p->in_relay < 0)
            printf(" direct");
        if (p->out_relay >= 0)
            printf(" over %d", p->out_relay);
        if (p->in_relay >= 0)
            printf(p->out_relay >= 0 ? " and %d" : " over %d", p->in_relay);
    }
    putchar('\n');
}

static void print_messages(const struct split *s)
{
    const struct balance *b = &s->balanced;
    char *shown = calloc(b->npieces + 1, 1);

    printf("\n%-6s %-6s %12s  %s\n", "FROM", "TO", "BYTES", "SPLIT");
    for (int row = 0; shown && row < MESSAGES; row++) {
        uint32_t best = UINT32_MAX;

        for (uint32_t i = 0; i < b->npieces; i++)
            if (!shown[i] && is_first(b, i) &&
                (best == UINT32_MAX ||
                 message_bytes(s, &b->piece[i]) > message_bytes(s, &b->piece[best])))
                best = i;
        if (best == UINT32_MAX)
            break;
        shown[best] = 1;
        print_message(s, best);
    }
    free(shown);
}

static void split_close(struct split *s)
{
    balance_free(&s->balanced);
    balance_free(&s->uniform);
    balance_free(&s->direct);
    balance_net_close(&s->net);
}

/* Returns an enum cli_exit; close in either case. */
static int split_open(struct split *s, const struct plan_request *q)
{
    struct balance_options o = nimble_options(q);

    *s = (struct split){.q = q};
    int rc = balance_net_open(&s->net, q->topo, BALANCE_AUTO);
    if (!rc)
        rc = balance_plan(&s->net, q->demand, &o, &s->balanced);
    if (!rc)
        rc = balance_uniform(&s->net, q->demand, &s->uniform);
    if (!rc)
        rc = balance_direct(&s->net, q->demand, &s->direct);
    return rc ? cli_fail("out of memory") : CLI_OK;
}

int cli_demand_show(const struct plan_request *q)
{
    struct split s;
    int code = split_open(&s, q);

    if (!code) {
        print_ways(&s);
        print_links(&s);
        print_messages(&s);
    }
    split_close(&s);
    return code;
}

int cli_demand_json(const struct plan_request *q, struct json *j)
{
    struct split s;
    double optimum;
    int code = split_open(&s, q);

    if (!code) {
        json_open(j, "balancing", '{');
        json_number(j, "balanced", s.balanced.congestion);
        json_number(j, "striped_evenly", s.uniform.congestion);
        json_number(j, "direct", s.direct.congestion);
        if (lp_congestion(&s.net, q->demand, nimble_options(q).split_bytes, &optimum))
            optimum = NAN;
        json_number(j, "optimum", optimum);
        json_number(j, "proven_at_least", s.balanced.bound);
        json_int(j, "relayed_bytes", (long long)s.balanced.relayed);
        json_close(j, '}');
    }
    split_close(&s);
    return code;
}

void cli_demand_rows(const struct plan_request *q)
{
    size_t n = (size_t)q->topo->nranks;

    for (size_t i = 0; i < n * n; i++)
        printf("%llu%c", (unsigned long long)q->demand[i], i % n == n - 1 ? '\n' : ' ');
}
