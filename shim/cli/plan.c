/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim plan`: what every rank would do in a collective, without an MPI. The plans of all
 * ranks are built here, which the preload never does, because load and proof need them all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/settings.h"
#include "planners/check.h"
#include "planners/load.h"
#include "shim/cli/cli.h"
#include "shim/cli/json.h"
#include "shim/cli/plan_export.h"

static const char help[] =
    "collshim plan COLLECTIVE [OPTIONS]\n"
    "\n"
    "The schedule of one collective on a topology: how much each rail carries, how far that is\n"
    "from the bound of the links, and what one rank does. Nothing is moved and no MPI is needed.\n"
    "\n"
    "  --topology TEXT   synthetic form or file (default: COLLSHIM_TOPOLOGY, else\n"
    "                    'node:4 gpu:4 rail:4'); `collshim topo TEXT` explains one\n"
    "  --bytes SIZE      payload of each rank, such as 1MiB (default)\n"
    "  --counts A,B,...  payload of rank 0, 1, ... instead; the last one goes for all that follow\n"
    "  --algorithm NAME  instead of the default; `collshim info` lists them\n"
    "  --chunk SIZE      pipeline chunk (default: what the preload would take)\n"
    "  --in-place        as with MPI_IN_PLACE\n"
    "  --rank R          list rank R's operations\n"
    "  --check           prove that the plans are right together; exit 1 if they are not\n"
    "  --dot             rank R's (or rank 0's) operations for Graphviz\n"
    "  --goal            all ranks for LogGOPSim\n"
    "  --json            the summary as JSON\n"
    "\n"
    "Examples:\n"
    "  collshim plan allgather --bytes 4MiB --check\n"
    "  collshim plan allgatherv --topology 'node:3 rank:4,3,4 rail:4' --counts 1M,0,64K\n"
    "  collshim plan allgather --topology 'node:2 gpu:2' --dot | dot -Tsvg > plan.svg\n";

struct arguments {
    const char *topology, *bytes, *counts, *algorithm, *chunk, *rank;
    int in_place, check, dot, goal, json;
};

struct work {
    struct topo *topo;
    size_t *counts;
    struct plan_request q;
    const struct plan_algorithm *algorithm;
    struct plan **plan; /* [nranks] */
    double build_us;    /* the slowest rank's */
    struct load load;
    int rank; /* to be listed, or -1 */
};

static int take_size(const char *option, const char *text, size_t *bytes)
{
    if (cfg_parse_bytes(text, bytes) < 0)
        return cli_usage("plan", "%s: '%s' is no size such as 65536, 64K or 1MiB", option, text);
    return CLI_OK;
}

static int take_counts(struct work *w, const char *text)
{
    char one[64];
    int nranks = w->topo->nranks, known = 0;

    w->counts = calloc((size_t)nranks, sizeof *w->counts);
    if (!w->counts)
        return cli_fail("out of memory");
    while (*text && known < nranks) {
        size_t n = strcspn(text, ",");

        if (snprintf(one, sizeof one, "%.*s", (int)n, text) >= (int)sizeof one)
            one[0] = 0;
        int code = take_size("--counts", one, &w->counts[known++]);
        if (code)
            return code;
        text += n + (text[n] == ',');
    }
    if (*text)
        return cli_usage("plan", "--counts has more sizes than the topology has ranks (%d)",
                         nranks);
    for (; known > 0 && known < nranks; known++)
        w->counts[known] = w->counts[known - 1];
    w->q.bytes = w->counts;
    return CLI_OK;
}

static int find_algorithm(struct work *w, const char *name)
{
    const char *collective = plan_collective_name(w->q.collective);

    w->algorithm =
        name ? plan_algorithm_find(w->q.collective, name) : plan_algorithm_default(w->q.collective);
    if (w->algorithm)
        return CLI_OK;
    if (name)
        return cli_usage("plan", "no algorithm '%s' for %s; `collshim info` lists them", name,
                         collective);
    return cli_fail("no algorithm serves %s yet; the library's own runs", collective);
}

static int prepare(struct work *w, const struct arguments *a, const char *collective)
{
    char why[256], *end;
    size_t chunk[PLAN_CHUNKS];
    const char *topology = a->topology ? a->topology : getenv("COLLSHIM_TOPOLOGY");
    int c = plan_collective_find(collective), code;

    if (c < 0)
        return cli_usage("plan", "no collective '%s'; `collshim info` lists them", collective);
    if (topo_parse(topology && *topology ? topology : "node:4 gpu:4 rail:4", 0, &w->topo, why,
                   sizeof why) < 0)
        return cli_fail("%s", why);
    w->q.collective = (enum plan_collective)c;
    w->q.topo = w->topo;
    w->q.in_place = a->in_place;
    w->q.grain = 1;
    if ((code = find_algorithm(w, a->algorithm)) ||
        (code = take_size("--bytes", a->bytes ? a->bytes : "1MiB", &w->q.nbytes)) ||
        (a->counts && (code = take_counts(w, a->counts))))
        return code;
    plan_chunks(&w->q, chunk);
    w->q.chunk_bytes = chunk[0];
    if (a->chunk && (code = take_size("--chunk", a->chunk, &w->q.chunk_bytes)))
        return code;
    if (!w->q.chunk_bytes)
        return cli_usage("plan", "--chunk must be at least 1");
    w->rank = a->rank ? (int)strtol(a->rank, &end, 10) : -1;
    if (a->rank && (*end || w->rank < 0 || w->rank >= w->topo->nranks))
        return cli_usage("plan", "--rank: '%s' is no rank of 0 to %d", a->rank,
                         w->topo->nranks - 1);
    return CLI_OK;
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int build(struct work *w)
{
    w->plan = calloc((size_t)w->topo->nranks, sizeof(struct plan *));
    if (!w->plan || load_open(w->topo, &w->load) < 0)
        return cli_fail("out of memory");
    for (int r = 0; r < w->topo->nranks; r++) {
        double start = now_us();

        w->q.rank = r;
        int rc = w->algorithm->build(&w->q, &w->plan[r]);
        if (rc)
            return cli_fail("%s cannot serve this: %s", w->algorithm->name,
                            rc == -ENOMEM ? "out of memory" : "the shape is not supported");
        if (now_us() - start > w->build_us)
            w->build_us = now_us() - start;
        load_add(&w->load, w->topo, w->plan[r]);
    }
    return CLI_OK;
}

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    cfg_print_bytes(bytes, text, size);
    return text;
}

static size_t largest_footprint(const struct work *w)
{
    size_t most = 0;

    for (int r = 0; r < w->topo->nranks; r++)
        if (plan_footprint(w->plan[r]) > most)
            most = plan_footprint(w->plan[r]);
    return most;
}

static void print_rails(const struct work *w)
{
    enum { ROWS = 32 };
    int rows = 0;

    printf("\n%-6s %-6s %14s %14s\n", "NODE", "RAIL", "BYTES IN", "BYTES OUT");
    for (int n = 0; n < w->load.nnodes; n++)
        for (int r = 0; r < w->load.nrails; r++, rows++)
            if (rows < ROWS)
                printf("%-6d %-6d %14.0f %14.0f\n", n, r, w->load.rail[n * w->load.nrails + r].in,
                       w->load.rail[n * w->load.nrails + r].out);
    if (rows > ROWS)
        printf("... and %d rails more\n", rows - ROWS);
}

static void print_operations(const struct plan *p)
{
    static const char *const buffers[] = {"input", "output", "scratch", "-"};

    printf("\nrank %d\n%6s %-11s %6s %5s %-8s %12s %-8s %12s %12s  %s\n", p->rank, "OP", "KIND",
           "PEER", "LANE", "FROM", "OFFSET", "TO", "OFFSET", "BYTES", "AFTER");
    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_op *op = &p->ops[i];
        const struct plan_queue *q = &p->queues[op->queue];

        printf("%6u %-11s %6d %5d %-8s %12llu %-8s %12llu %12llu ", i, plan_kind_name(q->kind), q->peer,
               q->lane, buffers[op->src], (unsigned long long)op->src_off, buffers[op->dst],
               (unsigned long long)op->dst_off, (unsigned long long)op->length);
        for (uint32_t d = 0; d < op->ndeps; d++)
            printf(" %u", p->deps[op->first_dep + d]);
        putchar('\n');
    }
}

/* Is anything known about the rails' rates? Then loads are times, else bytes. */
static int rates_known(const struct topo *t)
{
    return t->rail[0].bw_bytes_per_s > 0;
}

static void print_summary(const struct work *w)
{
    const struct topo *t = w->topo;
    char total[32], chunk[32];
    double bound = load_bound(&w->q), busiest = load_time(&w->load, t);

    printf("%s by %s: %s\n", plan_collective_name(w->q.collective), w->algorithm->name,
           w->algorithm->description);
    printf("ranks        %d on %d node%s, %d rail%s\n", t->nranks, t->nnodes, cli_s(t->nnodes),
           t->nrails, cli_s(t->nrails));
    printf("payload      %s in all, in chunks of %s\n",
           size_text(plan_total_bytes(&w->q), total, sizeof total),
           size_text(w->q.chunk_bytes, chunk, sizeof chunk));
    printf("rank 0       %u operations in %u queues\n", w->plan[0]->nops, w->plan[0]->nqueues);
    printf("a plan       at most %zu bytes, built in at most %.1f us\n", largest_footprint(w),
           w->build_us);
    if (w->algorithm->pays) {
        const char *why = w->algorithm->pays(&w->q);
        if (why)
            printf("left native  unless forced: %s\n", why);
    }
    if (t->nnodes > 1)
        printf("busiest rail %.6g %s, bound %.6g: %.3f of the bound\n",
               rates_known(t) ? busiest * 1e3 : busiest, rates_known(t) ? "ms" : "bytes",
               rates_known(t) ? bound * 1e3 : bound, busiest > 0 ? bound / busiest : 1);
}

static void print_json(const struct work *w, int checked)
{
    struct json j = json_begin(stdout);
    double bound = load_bound(&w->q), busiest = load_time(&w->load, w->topo);

    json_open(&j, NULL, '{');
    json_string(&j, "collective", plan_collective_name(w->q.collective));
    json_string(&j, "algorithm", w->algorithm->name);
    json_int(&j, "ranks", w->topo->nranks);
    json_int(&j, "nodes", w->topo->nnodes);
    json_int(&j, "rails", w->topo->nrails);
    json_int(&j, "total_bytes", (long long)plan_total_bytes(&w->q));
    json_int(&j, "chunk_bytes", (long long)w->q.chunk_bytes);
    json_int(&j, "plan_bytes", (long long)largest_footprint(w));
    json_number(&j, "build_us", w->build_us);
    json_string(&j, "unit", rates_known(w->topo) ? "seconds" : "bytes");
    json_number(&j, "busiest_rail", busiest);
    json_number(&j, "bound", bound);
    if (checked)
        json_bool(&j, "checked", 1);
    json_open(&j, "rail_load", '[');
    for (int i = 0; i < w->load.nnodes * w->load.nrails; i++) {
        json_open(&j, NULL, '{');
        json_int(&j, "node", i / w->load.nrails);
        json_int(&j, "rail", i % w->load.nrails);
        json_number(&j, "in_bytes", w->load.rail[i].in);
        json_number(&j, "out_bytes", w->load.rail[i].out);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
}

static int show(const struct work *w, const struct arguments *a)
{
    const struct plan *const *plan = (const struct plan *const *)w->plan;
    char why[256];

    if (a->check && plan_check(&w->q, plan, why, sizeof why) < 0)
        return cli_fail("check failed: %s", why);
    if (a->dot)
        plan_export_dot(stdout, plan[w->rank < 0 ? 0 : w->rank]);
    else if (a->goal)
        plan_export_goal(stdout, plan, w->topo->nranks);
    else if (a->json)
        print_json(w, a->check);
    else {
        print_summary(w);
        if (a->check)
            printf("checked      sends meet receives, no deadlock, every byte right, no hazard\n");
        if (w->topo->nnodes > 1)
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
        {"--topology", NULL, &a.topology}, {"--bytes", NULL, &a.bytes},
        {"--counts", NULL, &a.counts},     {"--algorithm", NULL, &a.algorithm},
        {"--chunk", NULL, &a.chunk},       {"--rank", NULL, &a.rank},
        {"--in-place", &a.in_place, NULL}, {"--check", &a.check, NULL},
        {"--dot", &a.dot, NULL},           {"--goal", &a.goal, NULL},
        {"--json", &a.json, NULL},         {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);

    if (n < 0)
        return -1 - n;
    if (n != 1)
        return cli_usage("plan", n ? "one collective at a time" : "a collective is missing");
    int code = prepare(&w, &a, argv[1]);
    if (!code)
        code = build(&w);
    if (!code)
        code = show(&w, &a);
    for (int r = 0; w.plan && r < w.topo->nranks; r++)
        plan_free(w.plan[r]);
    free(w.plan);
    load_free(&w.load);
    free(w.counts);
    topo_free(w.topo);
    return code;
}
