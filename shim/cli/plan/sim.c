/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim sim`: how long a collective should take, by the model of planners/model/model.h, beside
 * the bound of the links.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/json.h"
#include "config/settings/settings.h"
#include "config/topo/topo_rate.h"
#include "planners/links/rates.h"
#include "shim/cli/plan/request.h"

static const char help[] =
    "collshim sim COLLECTIVE [OPTIONS]\n"
    "\n"
    "How long one collective should take on a topology, and which links are busy meanwhile: the\n"
    "plans of all ranks in a fluid simulation, where messages that share a link share its rate.\n"
    "The bound is the least time the rails need for what must cross them. Rates that the topology\n"
    "leaves open are assumed: " RATES_TEXT ".\n"
    "\n" REQUEST_HELP "  --compare         all algorithms that serve the collective, side by side\n"
    "  --json            the same as JSON\n"
    "\n"
    "Examples:\n"
    "  collshim sim allgather --bytes 4MiB --topology 'node:4 gpu:4 rail:4@100Gbit'\n"
    "  collshim sim allreduce --bytes 64MiB --topology 'node:64 gpu:8 rail:8@200Gbit'\n"
    "  collshim sim allgather --compare\n";

struct arguments {
    struct request_options request;
    int compare, json;
};

/* The result of one algorithm. */
struct outcome {
    const struct plan_algorithm *algorithm;
    int rc; /* of building or predicting */
    char why[128];
    struct model_result m;
};

/* Build the plan of a rank of node 0, and see in which ways (enum model_fold_by) those of its place
   on some other nodes are the same; 0: none, or it cannot be built. */
static unsigned build_folded(struct plan_request q, const struct plan_algorithm *a, int local,
                             struct plan **plan)
{
    const struct topo *t = q.topo;
    const int nodes[] = {1, t->nnodes / 3, t->nnodes / 2, t->nnodes - 1};
    unsigned by = MODEL_FOLD_SHIFTED | MODEL_FOLD_TURNED;

    q.rank = local;
    if (a->build(&q, plan))
        return 0;
    for (size_t i = 0; by && i < sizeof nodes / sizeof *nodes; i++) {
        struct plan *other = NULL;

        q.rank = topo_node_rank(t, nodes[i], local);
        by &= a->build(&q, &other) ? 0 : model_fold_by(t, *plan, other);
        plan_free(other);
    }
    return by;
}

/* Where ranks are many and nodes alike, one node stands for all. Returns whether it could. */
static int predict_folded(const struct request *r, const struct plan_algorithm *a,
                          struct outcome *o)
{
    enum { FOLD_FROM = 1024 };
    int ranks = topo_node_size(r->topo, 0);
    unsigned by = MODEL_FOLD_SHIFTED | MODEL_FOLD_TURNED;

    if (r->topo->nranks < FOLD_FROM || r->counts || r->demand ||
        plan_is(r->q.collective, PLAN_ROOTED) || !model_fold_suits(r->topo))
        return 0;
    struct plan **plan = calloc((size_t)ranks, sizeof *plan);
    for (int l = 0; l < ranks && by; l++)
        by &= plan ? build_folded(r->q, a, l, &plan[l]) : 0;
    int done = by && !model_run_folded(r->topo, (const struct plan *const *)plan, by, &o->m);
    for (int l = 0; plan && l < ranks; l++)
        plan_free(plan[l]);
    free(plan);
    return done;
}

static void predict(const struct request *r, const struct plan_algorithm *a, struct outcome *o)
{
    struct request_plans p;

    *o = (struct outcome){.algorithm = a};
    if (predict_folded(r, a, o))
        return;
    *o = (struct outcome){.algorithm = a, .rc = request_build(r, a, &p)};
    if (!o->rc)
        o->rc = model_run(r->topo, (const struct plan *const *)p.plan, &o->m);
    if (o->rc)
        request_error(o->rc, &p, o->why, sizeof o->why);
    request_plans_free(&p);
}

/* The place of a link: "node 2 rail 1", "rank 3", "rank 3 > 4", "node 1 socket 0 > 1". */
static const char *place_text(const struct model_link *l, char *text, size_t size)
{
    if (l->kind == MODEL_RAIL_OUT || l->kind == MODEL_RAIL_IN)
        snprintf(text, size, "node %d rail %d", l->node, l->from);
    else if (l->kind == MODEL_SOCKET)
        snprintf(text, size, "node %d socket %d > %d", l->node, l->from, l->to);
    else if (l->to >= 0)
        snprintf(text, size, "rank %d > %d", l->from, l->to);
    else
        snprintf(text, size, "rank %d", l->from);
    return text;
}

/* "0.93", or "-" where there is no bound. */
static const char *fraction_text(double bound, double seconds, char *text, size_t size)
{
    if (bound > 0 && seconds > 0)
        snprintf(text, size, "%.3f", bound / seconds);
    else
        snprintf(text, size, "-");
    return text;
}

static void print_head(const struct request *r)
{
    const struct topo *t = r->topo;
    char total[32], chunk[32];

    cfg_print_bytes(plan_total_bytes(&r->q), total, sizeof total);
    cfg_print_bytes(r->q.chunk_bytes, chunk, sizeof chunk);
    printf("ranks        %d on %d node%s, %d rail%s%s\n", t->nranks, t->nnodes, cli_s(t->nnodes),
           t->nrails, cli_s(t->nrails),
           load_rates_known(t) ? "" : " of unknown rate (100Gbit is assumed)");
    printf("payload      %s in all, in chunks of %s\n", total, chunk);
}

/* The busiest links: all that are busy at least half as long as the first, but not too many. */
static void print_links(const struct model_result *m)
{
    enum { ROWS = 16 };
    char place[64], rate[TOPO_RATE_TEXT], bytes[32];
    int shown = 0;

    printf("\n%-12s %-22s %12s %10s %6s\n", "LINK", "WHERE", "BYTES", "RATE", "BUSY");
    for (; shown < m->nlinks && shown < ROWS; shown++) {
        const struct model_link *l = &m->link[shown];

        topo_print_rate(l->bw_bytes_per_s, rate, sizeof rate);
        snprintf(bytes, sizeof bytes, "%.0f", l->bytes);
        printf("%-12s %-22s %12s %10s %6.3f\n", model_link_name(l->kind),
               place_text(l, place, sizeof place), bytes, rate, model_link_busy(m, l));
    }
    if (shown < m->nlinks)
        printf("... and %d links less busy\n", m->nlinks - shown);
}

static void print_one(const struct request *r, const struct outcome *o)
{
    const struct model_result *m = &o->m;
    double bound = request_bound_s(r);
    char fraction[32], chunk[32];

    printf("%s by %s: %s\n", plan_collective_name(r->q.collective), o->algorithm->name,
           o->algorithm->description);
    if (r->q.recipe)
        printf("recipe       %s\n", r->q.recipe);
    print_head(r);
    cfg_print_bytes(m->chunk_bytes, chunk, sizeof chunk);
    printf("simulated    %llu chunks of at most %s\n", (unsigned long long)m->chunks, chunk);
    printf("predicted    %.6g ms", m->seconds * 1e3);
    if (bound > 0)
        printf(", bound %.6g ms: %s of the bound", bound * 1e3,
               fraction_text(bound, m->seconds, fraction, sizeof fraction));
    putchar('\n');
    print_links(m);
}

static void json_links(struct json *j, const struct model_result *m)
{
    json_open(j, "links", '[');
    for (int i = 0; i < m->nlinks; i++) {
        const struct model_link *l = &m->link[i];

        json_open(j, NULL, '{');
        json_string(j, "link", model_link_name(l->kind));
        json_int(j, "node", l->node);
        json_int(j, "from", l->from);
        json_index(j, "to", l->to);
        json_number(j, "bytes", l->bytes);
        json_number(j, "bw_bytes_per_s", l->bw_bytes_per_s);
        json_number(j, "busy", model_link_busy(m, l));
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* The outcome's members; the object is open. */
static void json_outcome(struct json *j, const struct outcome *o, double bound)
{
    const struct model_result *m = &o->m;

    json_string(j, "algorithm", o->algorithm->name);
    if (o->rc) {
        json_null(j, "model_s");
        json_string(j, "why", o->why);
        return;
    }
    json_number(j, "model_s", m->seconds);
    json_known(j, "bound_fraction", bound > 0 && m->seconds > 0 ? bound / m->seconds : 0);
    json_int(j, "simulated_chunks", (long long)m->chunks);
    json_int(j, "simulated_chunk_bytes", (long long)m->chunk_bytes);
}

static void json_head(struct json *j, const struct request *r)
{
    json_open(j, NULL, '{');
    json_string(j, "collective", plan_collective_name(r->q.collective));
    json_int(j, "ranks", r->topo->nranks);
    json_int(j, "nodes", r->topo->nnodes);
    json_int(j, "rails", r->topo->nrails);
    json_int(j, "total_bytes", (long long)plan_total_bytes(&r->q));
    json_int(j, "chunk_bytes", (long long)r->q.chunk_bytes);
    json_bool(j, "rail_rates_known", load_rates_known(r->topo));
    json_known(j, "bound_s", request_bound_s(r));
}

static int sim_one(const struct request *r, int as_json)
{
    struct outcome o;

    predict(r, r->algorithm, &o);
    if (o.rc)
        return cli_fail("%s: %s", o.algorithm->name, o.why);
    if (as_json) {
        struct json j = json_begin(stdout);

        json_head(&j, r);
        json_string(&j, "recipe", r->q.recipe);
        json_outcome(&j, &o, request_bound_s(r));
        json_links(&j, &o.m);
        json_close(&j, '}');
    } else
        print_one(r, &o);
    model_free(&o.m);
    return CLI_OK;
}

static void print_row(const struct outcome *o, double bound)
{
    char place[64], fraction[32];

    if (o->rc) {
        printf("%-20s %12s %9s  %s\n", o->algorithm->name, "-", "-", o->why);
        return;
    }
    printf("%-20s %12.6g %9s", o->algorithm->name, o->m.seconds * 1e3,
           fraction_text(bound, o->m.seconds, fraction, sizeof fraction));
    if (o->m.nlinks)
        printf("  %-12s %-22s %6.3f", model_link_name(o->m.link[0].kind),
               place_text(&o->m.link[0], place, sizeof place),
               model_link_busy(&o->m, &o->m.link[0]));
    putchar('\n');
}

static int sim_all(const struct request *r, int as_json)
{
    struct json j = json_begin(stdout);
    double bound = request_bound_s(r);
    int served = 0;

    if (as_json) {
        json_head(&j, r);
        json_open(&j, "algorithms", '[');
    } else {
        printf("%s by all algorithms that serve it\n", plan_collective_name(r->q.collective));
        print_head(r);
        if (bound > 0)
            printf("bound        %.6g ms\n", bound * 1e3);
        printf("\n%-20s %12s %9s  %-35s %6s\n", "ALGORITHM", "TIME MS", "OF BOUND", "BUSIEST LINK",
               "BUSY");
    }
    for (int i = 0; i < plan_algorithm_count; i++) {
        struct outcome o;

        if (!(plan_algorithms[i]->collectives & 1u << r->q.collective))
            continue;
        predict(r, plan_algorithms[i], &o);
        served += !o.rc;
        if (as_json) {
            json_open(&j, NULL, '{');
            json_outcome(&j, &o, bound);
            json_close(&j, '}');
        } else
            print_row(&o, bound);
        model_free(&o.m);
    }
    if (as_json) {
        json_close(&j, ']');
        json_close(&j, '}');
    }
    return served ? CLI_OK : cli_fail("no algorithm can serve this");
}

int cli_sim(int argc, char **argv)
{
    struct arguments a = {0};
    struct request r = {0};
    const struct cli_option options[] = {REQUEST_OPTIONS(&a.request),
                                         {"--compare", &a.compare, NULL},
                                         {"--json", &a.json, NULL},
                                         {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);

    if (n < 0)
        return -1 - n;
    if (n != 1)
        return cli_usage("sim", n ? "one collective at a time" : "a collective is missing");
    if (a.compare && (a.request.algorithm || a.request.text))
        return cli_usage("sim", "--compare takes all algorithms, --algorithm or --text one");
    int code = request_read("sim", &a.request, argv[1], &r);
    if (!code)
        code = a.compare ? sim_all(&r, a.json) : sim_one(&r, a.json);
    request_free(&r);
    return code;
}
