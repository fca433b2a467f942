/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI attaches an MPI_T enumeration to its variables. MPICH attaches none: its variables
 * are ints, and the names stand only in the description, in the order of the values, as
 *     ...auto - Internal algorithm selection (...)brucks     - Force ...nb         - Force ...
 * with the line ends lost. The names are padded to one width, so the first, which follows the
 * closing parenthesis, tells where all others begin. Rejected: a list of names in this file,
 * because it would silently force the wrong algorithm with the next version.
 */
#include "knob_names.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTION = 8192 };

static void add(struct bench_knob_names *names, int value, const char *name, size_t length)
{
    if (names->n == BENCH_KNOB_VALUES || length >= BENCH_KNOB_NAME)
        return;
    names->value[names->n] = value;
    memcpy(names->name[names->n], name, length);
    names->name[names->n][length] = '\0';
    names->n++;
}

/* From the text of a description; for variables without an enumeration. */
static void parse(const char *text, struct bench_knob_names *names)
{
    static const char dash[] = " - ", letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *at = strstr(text, "auto - "), *next;
    size_t width = 0;

    names->n = 0;
    if (!at)
        return;
    add(names, 0, "auto", 4);
    at += 7;
    for (int value = 1; (next = strstr(at, dash)) != NULL; value++, at = next + 3) {
        const char *begin = next - width;

        if (!width) {
            for (begin = next; begin > at && begin[-1] != ')'; begin--)
                ;
            begin += strspn(begin, " \n");
            width = (size_t)(next - begin);
        }
        size_t length = begin >= at ? strspn(begin, letters) : 0;
        if (!length || strspn(begin + length, " ") < (size_t)(next - begin) - length)
            return;
        add(names, value, begin, length);
    }
}

void bench_knob_names_get(int index, struct bench_knob_names *names)
{
    char name[256], text[DESCRIPTION];
    int name_length = sizeof(name), text_length = sizeof(text), verbosity, bind, scope, items;
    MPI_Datatype type;
    MPI_T_enum values = MPI_T_ENUM_NULL;

    names->n = 0;
    if (MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, text,
                            &text_length, &bind, &scope) != MPI_SUCCESS)
        return;
    if (values == MPI_T_ENUM_NULL) {
        parse(text, names);
        return;
    }
    name_length = sizeof(name);
    if (MPI_T_enum_get_info(values, &items, name, &name_length) != MPI_SUCCESS)
        return;
    for (int i = 0; i < items; i++) {
        int value;

        name_length = sizeof(name);
        if (MPI_T_enum_get_item(values, i, &value, name, &name_length) == MPI_SUCCESS)
            add(names, value, name, strlen(name));
    }
}
