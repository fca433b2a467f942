/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim plan`: what every rank would do in a collective, without an MPI.
 */
#include <math.h>
#include <stdlib.h>

#include "config/base/json.h"
#include "config/settings/settings.h"
#include "planners/check/check.h"
#include "shim/cli/plan/plan_export.h"
#include "shim/cli/plan/request.h"

static const char help[] =
    "collshim plan COLLECTIVE [OPTIONS]\n"
    "\n"
    "The schedule of one collective on a topology: how much each rail carries, how far that is\n"
    "from the bound of the links, how long it should take, and what one rank does. Nothing is\n"
    "moved and no MPI is needed.\n"
    "\n" REQUEST_HELP "  --rank R          list rank R's operations\n"
    "  --check           prove that the plans are right together; exit 1 if they are not\n"
    "  --picture         who sends how much to whom, as a matrix of ranks (of nodes, if more\n"
    "                    than 64): . nothing, 1 to 9 tenths of the largest, # the largest\n"
    "  --dot             rank R's (or rank 0's) operations for Graphviz\n"
    "  --goal            all ranks for LogGOPSim\n"
    "  --json            the summary as JSON\n"
    "  --rows            the demand alone, a row per sender, as --demand FILE reads it\n"
    "\n"
    "Examples:\n"
    "  collshim plan allgather --bytes 4MiB --check\n"
    "  collshim plan allgatherv --topology 'node:3 rank:4,3,4 rail:4' --counts 1M,0,64K\n"
    "  collshim plan alltoallv --demand skew:hot=0.7,bytes=4MiB --topology 'node:2 gpu:4 rail:4'\n"
    "  collshim plan allgather --topology 'node:2 gpu:2' --dot | dot -Tsvg > plan.svg\n"
    "  collshim plan allreduce --text docs/samples/allreduce.text --check --picture\n";

struct arguments {
    struct request_options request;
    const char *rank;
    int check, picture, dot, goal, json, rows;
};

struct work {
    struct request r;
    struct request_plans plans;
    int rank; /* to be listed, or -1 */
};

static int take_rank(struct work *w, const char *text)
{
    char *end;

    w->rank = text ? (int)strtol(text, &end, 10) : -1;
    if (text && (*end || w->rank < 0 || w->rank >= w->r.topo->nranks))
        return cli_usage("plan", "--rank: '%s' is no rank of 0 to %d", text, w->r.topo->nranks - 1);
    return CLI_OK;
}

static const struct plan *const *all_plans(const struct work *w)
{
    return (const struct plan *const *)w->plans.plan;
}

/* The model's prediction in seconds; negative if the plans are too large for it. */
static double predict(const struct work *w)
{
    struct model_result m;

    if (model_run(w->r.topo, all_plans(w), &m) < 0)
        return -1;
    double seconds = m.seconds;
    model_free(&m);
    return seconds;
}

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    cfg_print_bytes(bytes, text, size);
    return text;
}

static void print_rails(const struct work *w)
{
    enum { ROWS = 32 };
    int rows = 0;

    printf("\n%-6s %-6s %14s %14s\n", "NODE", "RAIL", "BYTES IN", "BYTES OUT");
    for (int n = 0; n < w->plans.load.nnodes; n++)
        for (int r = 0; r < w->plans.load.nrails; r++, rows++)
            if (rows < ROWS)
                printf("%-6d %-6d %14.0f %14.0f\n", n, r,
                       w->plans.load.rail[n * w->plans.load.nrails + r].in,
                       w->plans.load.rail[n * w->plans.load.nrails + r].out);
    if (rows > ROWS)
        printf("... and %d rails more\n", rows - ROWS);
}

static void print_operations(const struct plan *p)
{
    printf("\nrank %d\n%6s %-11s %6s %5s %-8s %12s %-8s %12s %12s  %s\n", p->rank, "OP", "KIND",
           "PEER", "TAG", "FROM", "OFFSET", "TO", "OFFSET", "BYTES", "AFTER");
    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_op *op = &p->ops[i];
        const struct plan_queue *q = &p->queues[op->queue];

        printf("%6u %-11s %6d %5d %-8s %12llu %-8s %12llu %12llu ", i, plan_kind_name(q->kind),
               q->peer, q->tag, plan_buffer_name(op->src), (unsigned long long)op->src_off,
               plan_buffer_name(op->dst), (unsigned long long)op->dst_off,
               (unsigned long long)op->length);
        for (uint32_t d = 0; d < op->ndeps; d++)
            printf(" %u", p->deps[op->first_dep + d]);
        putchar('\n');
    }
}

/* A plan with memory on both sides of a device: what one rank does on which. */
static void print_paths(const struct plan *p)
{
    static const char *const way[] = {"input => peers' devices => output",
                                      "input => host => peers' hosts => host => output"};
    uint64_t bytes[] = {p->output_bytes - p->host_bytes, p->host_bytes};

    printf("split        %.2f %% through the host\n"
           "  path   %10s %12s %12s  rank %d's way\n",
           100.0 * (double)p->host_bytes / (double)p->output_bytes, "BYTES", "SENT", "COMBINED",
           p->rank);
    for (int host = 0; host < 2; host++) {
        uint64_t sent = 0, combined = 0;

        for (uint32_t i = 0; i < p->nops; i++) {
            uint8_t kind = p->queues[p->ops[i].queue].kind;

            if (plan_uses_host(&p->ops[i]) != host)
                continue;
            sent += kind == PLAN_SEND ? p->ops[i].length : 0;
            combined += kind == PLAN_REDUCE || kind == PLAN_RECV_REDUCE ? p->ops[i].length : 0;
        }
        printf("  %-6s %10llu %12llu %12llu  %s\n", host ? "host" : "device",
               (unsigned long long)bytes[host], (unsigned long long)sent,
               (unsigned long long)combined, way[host]);
    }
}

static void print_summary(const struct work *w)
{
    const struct topo *t = w->r.topo;
    const struct plan_request *q = &w->r.q;
    char total[32], chunk[32];
    double bound = load_bound(q), busiest = load_time(&w->plans.load, t), seconds = predict(w);
    int known = load_rates_known(t);

    printf("%s by %s: %s\n", plan_collective_name(q->collective), w->r.algorithm->name,
           w->r.algorithm->description);
    if (q->recipe)
        printf("recipe       %s\n", q->recipe);
    printf("ranks        %d on %d node%s, %d rail%s\n", t->nranks, t->nnodes, cli_s(t->nnodes),
           t->nrails, cli_s(t->nrails));
    printf("payload      %s in all, in chunks of %s\n",
           size_text(plan_total_bytes(q), total, sizeof total),
           size_text(q->chunk_bytes, chunk, sizeof chunk));
    printf("rank 0       %u operations in %u queues\n", w->plans.plan[0]->nops,
           w->plans.plan[0]->nqueues);
    printf("a plan       at most %zu bytes, built in at most %.1f us\n", w->plans.largest,
           w->plans.build_us);
    if (w->plans.plan[0]->host_bytes)
        print_paths(w->plans.plan[w->rank < 0 ? 0 : w->rank]);
    if (w->r.algorithm->pays) {
        const char *why = w->r.algorithm->pays(q);
        if (why)
            printf("left native  unless forced: %s\n", why);
    }
    if (t->nnodes > 1)
        printf("busiest rail %.6g %s, bound %.6g: %.3f of the bound\n",
               known ? busiest * 1e3 : busiest, known ? "ms" : "bytes", known ? bound * 1e3 : bound,
               busiest > 0 ? bound / busiest : 1);
    if (seconds >= 0)
        printf("predicted    %.6g ms; `collshim sim` says where the time goes\n", seconds * 1e3);
}

static int print_json(const struct work *w, int checked)
{
    const struct topo *t = w->r.topo;
    const struct plan_request *q = &w->r.q;
    const struct load *load = &w->plans.load;
    struct json j = json_begin(stdout);
    double seconds = predict(w);
    int code = CLI_OK;

    json_open(&j, NULL, '{');
    json_string(&j, "collective", plan_collective_name(q->collective));
    json_string(&j, "algorithm", w->r.algorithm->name);
    json_string(&j, "recipe", q->recipe);
    json_int(&j, "ranks", t->nranks);
    json_int(&j, "nodes", t->nnodes);
    json_int(&j, "rails", t->nrails);
    json_int(&j, "total_bytes", (long long)plan_total_bytes(q));
    json_int(&j, "chunk_bytes", (long long)q->chunk_bytes);
    json_int(&j, "plan_bytes", (long long)w->plans.largest);
    json_int(&j, "host_bytes", (long long)w->plans.plan[0]->host_bytes);
    json_number(&j, "build_us", w->plans.build_us);
    json_string(&j, "unit", load_rates_known(t) ? "seconds" : "bytes");
    json_number(&j, "busiest_rail", load_time(load, t));
    json_number(&j, "bound", load_bound(q));
    json_number(&j, "model_s", seconds >= 0 ? seconds : NAN);
    if (checked)
        json_bool(&j, "checked", 1);
    json_open(&j, "rail_load", '[');
    for (int i = 0; i < load->nnodes * load->nrails; i++) {
        json_open(&j, NULL, '{');
        json_int(&j, "node", i / load->nrails);
        json_int(&j, "rail", i % load->nrails);
        json_number(&j, "in_bytes", load->rail[i].in);
        json_number(&j, "out_bytes", load->rail[i].out);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    if (q->demand)
        code = cli_demand_json(q, &j);
    json_close(&j, '}');
    putchar('\n');
    return code;
}

static int show(const struct work *w, const struct arguments *a)
{
    const struct plan *const *plan = all_plans(w);
    char why[256];

    if (a->check && plan_check(&w->r.q, plan, why, sizeof why) < 0)
        return cli_fail("check failed: %s", why);
    if (a->dot)
        plan_export_dot(stdout, plan[w->rank < 0 ? 0 : w->rank]);
    else if (a->goal)
        plan_export_goal(stdout, plan, w->r.topo->nranks);
    else if (a->rows)
        cli_demand_rows(&w->r.q);
    else if (a->json)
        return print_json(w, a->check);
    else {
        int code = CLI_OK;

        print_summary(w);
        if (w->r.q.demand) {
            putchar('\n');
            code = cli_demand_show(&w->r.q);
        }
        if (code)
            return code;
        if (a->check)
            printf("checked      sends meet receives, no deadlock, every byte right, no hazard\n");
        if (a->picture && plan_export_matrix(stdout, plan, w->r.topo) < 0)
            return cli_fail("out of memory");
        if (w->r.topo->nnodes > 1)
            print_rails(w);
        if (w->rank >= 0)
            print_operations(plan[w->rank]);
    }
    return CLI_OK;
}

int cli_plan(int argc, char **argv)
{
    struct arguments a = {0};
    struct work w = {.rank = -1};
    const struct cli_option options[] = {
        REQUEST_OPTIONS(&a.request),     {"--rank", NULL, &a.rank}, {"--check", &a.check, NULL},
        {"--picture", &a.picture, NULL}, {"--dot", &a.dot, NULL},   {"--goal", &a.goal, NULL},
        {"--json", &a.json, NULL},       {"--rows", &a.rows, NULL}, {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help), rc;
    char why[128];

    if (n < 0)
        return -1 - n;
    if (n != 1)
        return cli_usage("plan", n ? "one collective at a time" : "a collective is missing");
    int code = request_read("plan", &a.request, argv[1], &w.r);
    if (!code && a.rows && !w.r.q.demand)
        code = cli_usage("plan", "--rows: only alltoallv has a demand");
    if (!code)
        code = take_rank(&w, a.rank);
    if (!code && (rc = request_build(&w.r, w.r.algorithm, &w.plans)))
        code = cli_fail("%s cannot serve this: %s", w.r.algorithm->name,
                        request_error(rc, &w.plans, why, sizeof why));
    if (!code)
        code = show(&w, &a);
    request_plans_free(&w.plans);
    request_free(&w.r);
    return code;
}
