/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/waits_show.h"

#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/cli/cli.h"

enum { LATE_SHOWN = 3, RANK_TEXT = 120 };
static const double shown_from = 0.005;

static double number(json_t *o, const char *key)
{
    double x = json_number_value(json_object_get(o, key));

    return x > 0 ? x : 0;
}

double waits_part(json_t *site)
{
    json_t *w = json_object_get(site, "waiting");
    double all = number(w, "seconds") + number(w, "moving");

    return all > 0 ? number(w, "seconds") / all : 0;
}

/* "rank 12 on node7", or "rail 1 on node7" */
static const char *place_text(json_t *o, const char *what, char *text)
{
    const char *host = json_string_value(json_object_get(o, "host"));
    char shown[65];

    text_show(shown, sizeof shown, host ? host : "", host ? strlen(host) : 0);
    snprintf(text, RANK_TEXT, "%s %.0f%s%s", what, number(o, what), host ? " on " : "", shown);
    return text;
}

static const char *rank_text(json_t *late, char *text)
{
    return place_text(late, "rank", text);
}

/* The late rank for which most of the waiting was; NULL: there is none such. */
static json_t *culprit(json_t *waiting)
{
    json_t *first = json_array_get(json_object_get(waiting, "late"), 0);

    return number(first, "seconds") > number(waiting, "seconds") / 2 ? first : NULL;
}

/* The rail that was last in most of the calls with any last rail; NULL: there is none such. */
static json_t *last_rail(json_t *waiting)
{
    json_t *rail, *most = NULL;
    double all = 0;
    size_t i;

    json_array_foreach(json_object_get(waiting, "last_rail"), i, rail)
    {
        all += number(rail, "times");
        if (number(rail, "times") > number(most, "times"))
            most = rail;
    }
    return number(most, "times") > all / 2 && json_is_integer(json_object_get(most, "rail")) ? most
                                                                                             : NULL;
}

void waits_print_row(json_t *site)
{
    json_t *w = json_object_get(site, "waiting"), *late = culprit(w), *rail = last_rail(w);
    double all = number(w, "seconds") + number(w, "moving");
    double combining = all > 0 ? number(w, "combining") / all : 0;
    char text[RANK_TEXT];

    if (waits_part(site) < shown_from && combining < shown_from && !rail)
        return;
    printf("          waiting: %.0f %% of %.0f sampled calls", 100 * waits_part(site),
           number(w, "calls"));
    if (late)
        printf("; mostly for %s, late %.0f time%s", rank_text(late, text), number(late, "times"),
               number(late, "times") > 1 ? "s" : "");
    if (combining >= shown_from)
        printf("; combining: %.0f %%", 100 * combining);
    if (rail)
        printf("; last: %s, %.0f time%s", place_text(rail, "rail", text), number(rail, "times"),
               number(rail, "times") > 1 ? "s" : "");
    putchar('\n');
}

void waits_print_cause(json_t *site)
{
    json_t *late = culprit(json_object_get(site, "waiting"));
    double work = number(late, "work");
    char text[RANK_TEXT];

    if (!late)
        fputs("is waiting for one rank or another; spread the work before the call evenly", stdout);
    else
        printf("is waiting for %s: its work before the call takes %s%.3g times the others'",
               rank_text(late, text), work > 999 ? "over " : "", work > 999 ? 999 : work);
}

void waits_print(json_t *root)
{
    json_t *list = json_object_get(root, "by_rank"), *r, *most[LATE_SHOWN] = {NULL};
    double all = 0;
    char text[RANK_TEXT];
    size_t i;

    json_array_foreach(list, i, r)
    {
        json_t *in = r;

        all += number(r, "late_seconds");
        for (int k = 0; k < LATE_SHOWN; k++) {
            if (number(in, "late_seconds") <= number(most[k], "late_seconds"))
                continue;
            json_t *out = most[k];
            most[k] = in;
            in = out;
        }
    }
    if (!most[0])
        return;
    printf("\nWaiting in the sampled calls: %.3g s of all ranks, which no schedule can save\n",
           all);
    for (int k = 0; k < LATE_SHOWN && most[k]; k++)
        printf("  %4.1f%% for %s, late %.0f time%s\n", 100 * number(most[k], "late_seconds") / all,
               rank_text(most[k], text), number(most[k], "late"),
               number(most[k], "late") > 1 ? "s" : "");
}
