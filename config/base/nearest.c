/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edit distance with three rows on the stack. The names are a few dozen and short, so the plain
 * table is enough. Names longer than any known one get no suggestion, which bounds the rows.
 */
#include "config/base/nearest.h"

#include <string.h>

#include "config/base/text.h"

#define LONGEST 63

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int is_prefix(const char *name, const char *candidate)
{
    size_t n = strlen(name);

    return n >= 3 && n < strlen(candidate) && text_is_word(name, n, name) &&
           text_is_word(candidate, n, name);
}

/* Optimal string alignment; both names are at most LONGEST long. */
static int edit_distance(const char *a, const char *b)
{
    int na = (int)strlen(a), nb = (int)strlen(b);
    int row[3][LONGEST + 1];

    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            char x = text_lower(a[i - 1]), y = text_lower(b[j - 1]);

            now[j] = least(before[j - 1] + (x != y), 1 + least(before[j], now[j - 1]));
            if (i > 1 && j > 1 && x == text_lower(b[j - 2]) && text_lower(a[i - 2]) == y)
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

struct nearest nearest_to(const char *name)
{
    size_t n = strlen(name);

    /* Up to a third of the letters may be wrong: `nod` finds node, `cat` does not find rank. */
    return (struct nearest){.name = name, .distance = n > LONGEST ? 0 : (int)(n + 1) / 3 + 1};
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    int distance;

    if (n->distance == 0 || strlen(candidate) > LONGEST)
        return;
    distance = is_prefix(n->name, candidate) ? 1 : edit_distance(n->name, candidate);
    if (distance >= n->distance)
        return;
    n->distance = distance;
    n->best = candidate;
}
