/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/gate/gate_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/json.h"
#include "shim/cli/cli.h"

static const char *const sides[2] = {"baseline", "new"};
static const char *const words[] = {"same", "slower", "faster", "not sure"};
static const char *const outcomes[] = {"no loss", "loss", "no loss", "not sure"};

enum gate_verdict gate_verdict(const struct gate *g)
{
    enum gate_verdict all = GATE_SAME;

    for (int i = 0; i < g->rows; i++) {
        enum gate_verdict one = g->row[i].found.verdict;

        if (g->row[i].compared && all != GATE_SLOWER && (one == GATE_SLOWER || one == GATE_UNSURE))
            all = one;
    }
    return all;
}

/* A name in a table of Markdown: no mark of its own. */
static void print_name(const char *text, int markdown)
{
    for (; *text; text++) {
        if (markdown && strchr("\\`*_{}[]<>()#+-!|~&@", *text))
            putchar('\\');
        putchar(*text);
    }
}

static const char *time_text(double s, char text[32])
{
    snprintf(text, 32,
             s < 1e-3 ? "%.4g us"
             : s < 1  ? "%.4g ms"
                      : "%.4g s",
             s * (s < 1e-3 ? 1e6
                  : s < 1  ? 1e3
                           : 1));
    return text;
}

static double percent(double change)
{
    return 100 * expm1(change);
}

static void print_row(const struct gate_row *r, int markdown)
{
    const struct gate_change *c = &r->found;
    char t[2][32];

    fputs(markdown ? "| " : "  ", stdout);
    print_name(r->place, markdown);
    if (*r->what)
        printf(": %s", r->what);
    printf(markdown ? " | %s ± %.1f %% | %s ± %.1f %% | %+.1f ± %.1f %% | %.2g | %s |\n"
                    : "\n    %12s +-%5.1f %% %12s +-%5.1f %% %+7.1f +-%5.1f %% %8.2g  %s\n",
           time_text(r->mean[0], t[0]), 100 * r->spread[0], time_text(r->mean[1], t[1]),
           100 * r->spread[1], percent(c->change), 200 * c->error, fmin(c->slower, c->faster),
           words[c->verdict]);
}

static void print_side(const struct gate_side *s)
{
    for (int i = 0; i < GATE_SKIPS; i++)
        if (s->skipped[i])
            printf("Left out: %d file%s %s, the first %s\n", s->skipped[i], cli_s(s->skipped[i]),
                   gate_skip_texts[i], s->first_skipped[i]);
}

/* Calls that only some runs have: the program or its input is another. */
static void print_missing(const struct gate *g)
{
    for (int i = GATE_TOTALS; i < g->rows; i++) {
        int in[2] = {0};

        for (int k = 0; k < 2 * GATE_RUNS; k++)
            in[k / GATE_RUNS] += g->row[i].calls[k / GATE_RUNS][k % GATE_RUNS] > 0;
        if (in[0] < g->side[0].runs || in[1] < g->side[1].runs)
            printf("Not compared: %s: %s, in %d runs of the baseline and %d new ones\n",
                   g->row[i].place, g->row[i].what, in[0], in[1]);
    }
}

static void conclude(const struct gate *g)
{
    enum gate_verdict all = gate_verdict(g);
    const struct gate_row *most = NULL;
    int of = 0, needed = 0;

    for (int i = 0; i < g->rows; i++) {
        const struct gate_row *r = &g->row[i];

        if (!r->compared || r->found.verdict != all)
            continue;
        of++;
        needed = r->found.needed > needed ? r->found.needed : needed;
        if (!most || r->found.change > most->found.change)
            most = r;
    }
    if (all == GATE_SLOWER)
        printf("\nLoss: %d slower; most of all %s, by %.1f %%.\n", of, most->place,
               percent(most->found.change));
    else if (all == GATE_UNSURE && needed > GATE_RUNS)
        printf("\nNot sure: %d could hide a loss of %.3g %%. Runs differ too much; make them "
               "longer, or "
               "on idle nodes.\n",
               of, 100 * g->loss);
    else if (all == GATE_UNSURE && needed)
        printf(
            "\nNot sure: %d could hide a loss of %.3g %%; about %d runs on each side would tell.\n",
            of, 100 * g->loss, needed);
    else if (all == GATE_UNSURE)
        puts("\nNot sure: a side has one run, which says nothing of the spread; make 10 of each.");
    else
        printf("\nNo loss: nothing takes %.3g %% longer.\n", 100 * g->loss);
}

void gate_show_text(const struct gate *g, int markdown)
{
    const struct gate_side *s = g->side;
    int any = 0;

    if (markdown)
        printf("### collshim gate: %s\n\n", outcomes[gate_verdict(g)]);
    print_name(s[1].fact[FACT_PROGRAM], markdown);
    printf(" on %s: %d run%s of the baseline, %d new\n", s[1].fact[FACT_SHAPE], s[0].runs,
           cli_s(s[0].runs), s[1].runs);
    for (int i = FACT_VERSION; i < FACTS; i++)
        if (strcmp(s[0].fact[i], s[1].fact[i]) != 0)
            printf("%sChanged: %s %s -> %s\n", markdown ? "\n" : "", gate_fact_names[i],
                   s[0].fact[i], s[1].fact[i]);
    puts(markdown ? "\n| time of a call | baseline | new | change | p | verdict |\n"
                    "|---|---:|---:|---:|---:|---|"
                  : "\n        baseline   spread          new   spread      change          p"
                    "  verdict");
    for (int i = 0; i < g->rows; i++)
        if (g->row[i].compared && ++any)
            print_row(&g->row[i], markdown);
    conclude(g);
    if (markdown)
        return;
    print_side(&s[0]);
    print_side(&s[1]);
    print_missing(g);
}

static void put_side(struct json *j, const struct gate_side *s, const char *name)
{
    json_open(j, name, '{');
    json_string(j, "path", s->path);
    json_int(j, "runs", s->runs);
    for (int i = 0; i < FACTS; i++)
        json_string(j, gate_fact_names[i], s->fact[i]);
    json_open(j, "left_out", '{');
    for (int i = 0; i < GATE_SKIPS; i++)
        json_int(j, gate_skip_texts[i], s->skipped[i]);
    json_close(j, '}');
    json_close(j, '}');
}

static void put_row(struct json *j, const struct gate_row *r)
{
    json_open(j, NULL, '{');
    json_string(j, "place", r->place);
    json_string(j, "call", *r->what ? r->what : NULL);
    for (int s = 0; s < 2; s++) {
        json_open(j, sides[s], '{');
        json_rounded(j, "mean_s", 6, r->mean[s]);
        json_rounded(j, "spread", 4, r->spread[s]);
        json_close(j, '}');
    }
    json_rounded(j, "change", 4, expm1(r->found.change));
    json_rounded(j, "plus_minus", 4, 2 * r->found.error);
    json_rounded(j, "p_slower", 4, r->found.slower);
    json_rounded(j, "p_faster", 4, r->found.faster);
    json_string(j, "verdict", words[r->found.verdict]);
    json_int(j, "runs_needed", r->found.needed);
    json_close(j, '}');
}

void gate_show_json(const struct gate *g)
{
    struct json j = json_begin(stdout);

    json_open(&j, NULL, '{');
    json_string(&j, "verdict", outcomes[gate_verdict(g)]);
    json_number(&j, "loss", g->loss);
    for (int s = 0; s < 2; s++)
        put_side(&j, &g->side[s], sides[s]);
    json_open(&j, "rows", '[');
    for (int i = 0; i < g->rows; i++)
        if (g->row[i].compared)
            put_row(&j, &g->row[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}
