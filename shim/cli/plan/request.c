/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/plan/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/settings/settings.h"
#include "planners/choose/simulated.h"
#include "planners/links/rates.h"

static int take_size(const struct request *r, const char *option, const char *text, size_t *bytes)
{
    int code = cfg_parse_bytes(text, bytes);

    if (code == -ERANGE)
        return cli_usage(r->command, "%s: '%s' is too large", option, text);
    if (code < 0)
        return cli_usage(r->command, "%s: '%s' is no size such as 65536, 64K or 1MiB", option,
                         text);
    return CLI_OK;
}

static int take_counts(struct request *r, const char *text)
{
    char one[64];
    int nranks = r->topo->nranks, known = 0;

    if (!plan_is(r->q.collective, PLAN_BY_RANK))
        return cli_usage(r->command, "--counts: %s has one size; --bytes gives it",
                         plan_collective_name(r->q.collective));
    r->counts = calloc((size_t)nranks, sizeof *r->counts);
    if (!r->counts)
        return cli_fail("out of memory");
    while (*text && known < nranks) {
        size_t n = strcspn(text, ",");

        if (snprintf(one, sizeof one, "%.*s", (int)n, text) >= (int)sizeof one)
            one[0] = 0;
        int code = take_size(r, "--counts", one, &r->counts[known++]);
        if (code)
            return code;
        text += n + (text[n] == ',');
    }
    if (*text)
        return cli_usage(r->command, "--counts has more sizes than the topology has ranks (%d)",
                         nranks);
    for (; known > 0 && known < nranks; known++)
        r->counts[known] = r->counts[known - 1];
    r->q.bytes = r->counts;
    return CLI_OK;
}

/* --algorithm, or --text. */
static int find_algorithm(struct request *r, const struct request_options *o)
{
    char why[256], text[CFG_TEXT_MAX];

    if (o->algorithm && o->text)
        return cli_usage(r->command, "--algorithm and --text both name one; one of them will do");
    snprintf(text, sizeof text, "%s%s", o->text ? "text:" : "", o->text ? o->text : o->algorithm);

    r->algorithm =
        plan_algorithm_parse(r->q.collective, text, r->recipe, sizeof r->recipe, why, sizeof why);
    if (!r->algorithm)
        return cli_usage(r->command, "%s", why);
    if (*r->recipe)
        r->q.recipe = r->recipe;
    return CLI_OK;
}

/* As the preload would at first, before it measures; where it leaves the call native, the row that
   is best in spite of that. */
static int choose_algorithm(struct request *r)
{
    struct plan_candidate best;

    if (!simulated_candidates(&r->q, &best, 1) && !plan_candidates_all(&r->q, &best, 1))
        return cli_fail("no algorithm serves %s yet; the library's own runs",
                        plan_collective_name(r->q.collective));
    r->algorithm = best.algorithm;
    r->q.recipe = best.recipe;
    r->q.chunk_bytes = best.chunk_bytes;
    return CLI_OK;
}

/* Places and their differences are counted in 64 bits; some algorithms keep every rank's part. */
static int too_large(const struct request *r, const char *option, uint64_t most)
{
    char text[32];

    while (most & (most - 1)) /* a round number */
        most &= most - 1;
    cfg_print_bytes(most, text, sizeof text);
    return cli_usage(r->command, "%s: too large for %d ranks; at most %s", option, r->topo->nranks,
                     text);
}

static int check_sizes(const struct request *r)
{
    uint64_t nranks = (uint64_t)r->topo->nranks, most = ((uint64_t)1 << 62) / nranks, sum = 0;
    const char *option = r->q.demand ? "--demand, all sizes" : "--counts, all sizes";

    if (!r->q.demand && !r->counts) {
        uint64_t equal = r->q.collective == COLL_ALLTOALL ? nranks * nranks : nranks;
        return r->q.nbytes > most / equal ? too_large(r, "--bytes", most / equal) : CLI_OK;
    }
    for (uint64_t i = 0; i < (r->q.demand ? nranks * nranks : nranks); i++)
        if (__builtin_add_overflow(sum, r->q.demand ? r->q.demand[i] : r->counts[i], &sum) ||
            sum > most)
            return too_large(r, option, most);
    return CLI_OK;
}

static int take_root(struct request *r, const char *text)
{
    char *end;
    long root = strtol(text, &end, 10);

    if (*end || root < 0 || root >= r->topo->nranks)
        return cli_usage(r->command, "--root: '%s' is no rank of 0 to %d", text,
                         r->topo->nranks - 1);
    r->q.root = (int)root;
    return CLI_OK;
}

static int take_chunk(struct request *r, const char *text)
{
    int code = take_size(r, "--chunk", text, &r->q.chunk_bytes);

    if (!code && !r->q.chunk_bytes)
        code = cli_usage(r->command, "--chunk must be at least 1");
    r->q.chunk_bytes = plan_chunk(&r->q, r->q.chunk_bytes);
    return code;
}

/* Alltoallv has a matrix instead of a size. */
static int take_demand(struct request *r, const struct request_options *o)
{
    const char *text = o->demand;
    int v = plan_has_demand(r->q.collective);

    if (!v && text)
        return cli_usage(r->command,
                         "--demand is for alltoallv and neighbor_...; --bytes gives the size of %s",
                         plan_collective_name(r->q.collective));
    if (!v)
        return CLI_OK;
    if (o->bytes)
        return cli_usage(r->command, "--bytes: %s has --demand instead",
                         plan_collective_name(r->q.collective));
    int code = cli_demand_read(r->command, text ? text : "skew", r->topo, &r->demand);
    r->q.demand = r->demand;
    r->q.nbytes = 0;
    return code;
}

/* As the model takes it: a rank that has a GPU has its data there. */
static int all_on_gpus(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].gpu < 0)
            return 0;
    return 1;
}

/* A smaller command: the work grows with the ranks and with the chunks of the payload. */
static void advise(const struct request *r)
{
    const struct topo *t = r->topo;
    uint64_t share = plan_total_bytes(&r->q) / (uint64_t)t->nranks;
    char chunk[32], fewer[48] = "";

    if (t->nnodes > 1)
        snprintf(fewer, sizeof fewer, "fewer nodes than %d", t->nnodes);
    else
        snprintf(fewer, sizeof fewer, "fewer ranks than %d", t->nranks);
    if (r->q.chunk_bytes && r->q.chunk_bytes < share) {
        cfg_print_bytes(r->q.chunk_bytes, chunk, sizeof chunk);
        cli_limit_advice("%s, less payload, chunks larger than %s", fewer, chunk);
    } else
        cli_limit_advice("%s", fewer);
}

int request_read(const char *command, const struct request_options *o, const char *collective,
                 struct request *r)
{
    char why[256];
    size_t chunk[PLAN_CHUNKS];
    const char *topology = o->topology ? o->topology : getenv("COLLSHIM_TOPOLOGY");
    int c = plan_collective_find(collective), code;

    *r = (struct request){.command = command};
    if ((code = cli_limit(command, o->limit)))
        return code;
    if (c < 0)
        return cli_usage(command, "no collective '%s'; `collshim info` lists them", collective);
    if (topo_parse(topology && *topology ? topology : "node:4 gpu:4 rail:4", 0, &r->topo, why,
                   sizeof why) < 0)
        return cli_fail("%s", why);
    r->q.collective = (enum plan_collective)c;
    r->q.topo = r->topo;
    r->q.in_place = o->in_place;
    r->q.grain = 1;
    r->q.memory = all_on_gpus(r->topo) ? PLAN_ON_DEVICE : PLAN_IN_HOST;
    int named = o->algorithm || o->text;
    if ((named && (code = find_algorithm(r, o))) ||
        (code = take_size(r, "--bytes", o->bytes ? o->bytes : "1MiB", &r->q.nbytes)) ||
        (o->counts && (code = take_counts(r, o->counts))) || (code = take_demand(r, o)) ||
        (code = check_sizes(r)) || (o->root && (code = take_root(r, o->root))) ||
        (o->chunk && (code = take_chunk(r, o->chunk))) || (!named && (code = choose_algorithm(r))))
        return code;
    if (!r->q.chunk_bytes) {
        plan_chunks(&r->q, chunk);
        r->q.chunk_bytes = chunk[0];
    }
    advise(r);
    if (r->q.recipe && r->algorithm->accepts(&r->q, why, sizeof why) < 0)
        return cli_usage(command, "%s: %s", r->algorithm->name, why);
    return CLI_OK;
}

void request_free(struct request *r)
{
    free(r->counts);
    free(r->demand);
    topo_free(r->topo);
    *r = (struct request){0};
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int request_build(const struct request *r, const struct plan_algorithm *a, struct request_plans *p)
{
    struct plan_request q = r->q;
    size_t all = 0;

    *p = (struct request_plans){.nranks = r->topo->nranks};
    p->plan = calloc((size_t)p->nranks, sizeof(struct plan *));
    if (!p->plan || load_open(r->topo, &p->load) < 0)
        return -ENOMEM;
    for (int rank = 0; rank < p->nranks; rank++) {
        double start = now_us();

        p->built = rank;
        q.rank = rank;
        int rc = a->build(&q, &p->plan[rank]);
        if (rc)
            return rc;
        double us = now_us() - start;
        size_t size = plan_footprint(p->plan[rank]);
        if (us > p->build_us)
            p->build_us = us;
        if (size > p->largest)
            p->largest = size;
        if ((all += size) > REQUEST_MOST_BYTES)
            return -E2BIG;
        load_add(&p->load, r->topo, p->plan[rank]);
    }
    return 0;
}

void request_plans_free(struct request_plans *p)
{
    for (int r = 0; p->plan && r < p->nranks; r++)
        plan_free(p->plan[r]);
    free(p->plan);
    load_free(&p->load);
    *p = (struct request_plans){0};
}

const char *request_error(int code, const struct request_plans *p, char *text, size_t size)
{
    switch (code) {
    case -ENOMEM:
        snprintf(text, size, "out of memory");
        break;
    case -E2BIG:
        snprintf(
            text, size,
            "too many ranks: the plans of %d fit in the %zuMiB for them, those of %d do not; take "
            "fewer nodes",
            p->built, REQUEST_MOST_BYTES >> 20, p->nranks);
        break;
    case -EDEADLK:
        snprintf(text, size, "the plans never end; `collshim plan --check` says why");
        break;
    default:
        snprintf(text, size, "the shape is not supported");
    }
    return text;
}

double request_bound_s(const struct request *r)
{
    double bound = load_bound(&r->q);

    return load_rates_known(r->topo) ? bound : bound / rates_assumed.rail.bw_bytes_per_s;
}
