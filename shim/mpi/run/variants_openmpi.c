/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI: coll/tuned reads coll_tuned_<collective>_algorithm, and whether to read it at all
 * (coll_tuned_use_dynamic_rules), when a communicator is made. So they are set while a variant's
 * communicator is made, and are back before any other is. The info key ompi_comm_coll_preference
 * puts one component above all others for that communicator: 5.0 would else take han between nodes.
 *
 * The variables are those of MPI_T, reached through the functions of libopen-pal that MPI_T calls.
 * Rejected: MPI_T itself. MPI_T_init_thread opens every component of every framework (4.1.4: 210
 * ms) and sets the thread level that MPI_Query_thread tells; and in 4.1.4
 * coll_tuned_use_dynamic_rules is read-only there. Rejected: OMPI_MCA_ variables before MPI_Init,
 * since coll_tuned_use_dynamic_rules would also switch on a rules file that a site has left off.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shim/mpi/api/process.h"
#include "shim/mpi/run/variants.h"

enum { SETTABLE = 4, SOURCE_SET = 4 }; /* of opal/mca/base/mca_base_var.h, since 1.7 */

static struct {
    int (*find)(const char *project, const char *framework, const char *component,
                const char *name);
    int (*get_value)(int index, const void *address_of_value, int *source, const char **file);
    int (*set_value)(int index, const void *value, size_t size, int source, const char *file);
    int (*set_flag)(int index, int flag, _Bool on);
} var;

static int dynamic = -1; /* the index of coll_tuned_use_dynamic_rules */
static struct {
    int algorithm, segment; /* indexes, or -1 */
    int usual;              /* segment size */
} rows[COLL_COUNT];

static int openmpi_open(void *libmpi)
{
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {{"mca_base_var_find", &var.find},
                   {"mca_base_var_get_value", &var.get_value},
                   {"mca_base_var_set_value", &var.set_value},
                   {"mca_base_var_set_flag", &var.set_flag}};

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(libmpi, symbols[i].name);

        if (!symbol)
            return 0;
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return 1;
}

/* Its value, or -1 if there is no such variable. A bool's is in its first byte. */
static int value_of(int index, int is_bool)
{
    const void *at = NULL;
    int value = -1;

    if (index < 0 || var.get_value(index, &at, NULL, NULL) != 0 || !at)
        return -1;
    if (is_bool)
        return *(const unsigned char *)at;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Returns 0, or -1 if the library has no such value. */
static int set(int index, int value)
{
    if (var.set_value(index, &value, sizeof value, SOURCE_SET, NULL) == 0)
        return 0;
    if (var.set_flag(index, SETTABLE, 1) != 0)
        return -1;
    int rc = var.set_value(index, &value, sizeof value, SOURCE_SET, NULL);
    var.set_flag(index, SETTABLE, 0);
    return rc == 0 ? 0 : -1;
}

static int find_of(enum plan_collective c, const char *end)
{
    char name[64];

    snprintf(name, sizeof name, "%s_algorithm%s", plan_collective_name(c), end);
    return var.find("ompi", "coll", "tuned", name);
}

/* Can the collective's algorithm be set, and is it still unset? */
static int is_free(enum plan_collective c)
{
    char name[96];

    rows[c].algorithm = find_of(c, "");
    rows[c].segment = find_of(c, "_segmentsize");
    if (rows[c].algorithm < 0)
        return 0;
    if (value_of(rows[c].algorithm, 0) == 0)
        return 1;
    snprintf(name, sizeof name, "coll_tuned_%s_algorithm", plan_collective_name(c));
    variants_say_fixed(name);
    return 0;
}

static int can_set(int index, int value)
{
    int usual = value_of(index, 0), rc = set(index, value);

    return rc == 0 && set(index, usual) == 0;
}

static void openmpi_offer(struct variant_set *all)
{
    const int one = 1;
    int level = MPI_THREAD_MULTIPLE, han = var.find("ompi", "coll", "han", "priority");
    unsigned free_ones = 0;

    if (!*(const char *)&one) /* set_value takes a bool for an int, and copies its first byte */
        return;
    dynamic = var.find("ompi", "coll", "tuned", "use_dynamic_rules");
    mpi.Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE && value_of(dynamic, 1) >= 0 &&
        value_of(var.find("ompi", "coll", "tuned", "priority"), 0) >= 0 &&
        (value_of(dynamic, 1) || (set(dynamic, 1) == 0 && set(dynamic, 0) == 0)))
        for (int c = 0; c < COLL_COUNT; c++)
            free_ones |= is_free((enum plan_collective)c) ? 1u << c : 0;
    for (int i = 0; i < plan_variant_count; i++) {
        const struct plan_variant *v = &plan_variants[i];

        if (v->library != VARIANT_OPENMPI)
            continue;
        if (!v->number ? value_of(han, 0) >= 0
                       : (free_ones >> v->collective & 1) &&
                             can_set(rows[v->collective].algorithm, v->number) &&
                             (v->segment <= 0 || rows[v->collective].segment >= 0))
            variant_set_add(all, i);
    }
}

/* Let all collectives that have the variant's number and segment use it, or again what was. */
static int turn(const struct plan_variant *like, int on)
{
    int rc = 0;

    for (int i = 0; i < plan_variant_count; i++) {
        const struct plan_variant *v = &plan_variants[i];

        if (!variant_set_has(&variants_usable, i) || v->number != like->number ||
            v->segment != like->segment || strcmp(v->component, like->component) != 0)
            continue;
        int algorithm = rows[v->collective].algorithm, segment = rows[v->collective].segment;
        rc |= set(algorithm, on ? v->number : 0);
        if (on && v->segment > 0)
            rows[v->collective].usual = value_of(segment, 0);
        if (v->segment > 0)
            rc |= set(segment, on ? v->segment : rows[v->collective].usual);
    }
    return rc;
}

static int was_dynamic;

static void openmpi_make_end(const struct plan_variant *v)
{
    if (!v->number)
        return;
    turn(v, 0);
    set(dynamic, was_dynamic);
}

static int openmpi_make_begin(const struct plan_variant *v, const char **key, const char **prefer)
{
    *key = "ompi_comm_coll_preference";
    *prefer = v->component;
    if (!v->number)
        return 0;
    was_dynamic = value_of(dynamic, 1);
    if (value_of(rows[v->collective].algorithm, 0) != 0) /* the program sets it itself by now */
        return -1;
    if (set(dynamic, 1) == 0 && turn(v, 1) == 0)
        return 0;
    openmpi_make_end(v);
    return -1;
}

static void openmpi_close(void)
{
}

const struct variant_way variants_openmpi = {.library = VARIANT_OPENMPI,
                                             .open = openmpi_open,
                                             .offer = openmpi_offer,
                                             .close = openmpi_close,
                                             .make_begin = openmpi_make_begin,
                                             .make_end = openmpi_make_end};
