/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/count.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/json.h"
#include "config/write_file.h"

enum { SIZE_CLASSES = 48 }; /* class k: 2^k <= total bytes < 2^(k+1) */
enum { NATIVE, REROUTED, WAYS };
enum { ROWS = 32 }; /* of the registry that are told apart */

static struct {
    uint64_t native[COLL_COUNT][REASON_COUNT];
    uint64_t verified[COLL_COUNT][2]; /* different, equal */
    uint64_t calls[COLL_COUNT][SIZE_CLASSES][WAYS];
    uint64_t nanoseconds[COLL_COUNT][SIZE_CLASSES][WAYS];
    uint64_t by_row[COLL_COUNT][SIZE_CLASSES][ROWS]; /* rerouted calls */
    uint64_t verdicts[COLL_COUNT][SIZE_CLASSES][WAYS];
    uint64_t sliced[COLL_COUNT][3]; /* by helpers too; of these on a device; again without them */
    uint64_t exchange[COUNT_EXCHANGES_COUNT];
} counts;

static const char *const reason_texts[] = {
#define REASON(id, text) text,
#include "shim/mpi/reasons.def"
#undef REASON
};

static void add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void count_native(enum plan_collective c, enum reason why)
{
    if (__atomic_fetch_add(&counts.native[c][why], 1, __ATOMIC_RELAXED) == 0)
        say(CFG_LEVEL_INFO, "%s runs natively: %s", plan_collective_name(c), reason_texts[why]);
}

static int size_class(uint64_t total)
{
    int k = total ? 63 - __builtin_clzll(total) : 0;

    return k < SIZE_CLASSES ? k : SIZE_CLASSES - 1;
}

static void count_timed(enum plan_collective c, int way, uint64_t total, double seconds)
{
    int k = size_class(total);

    add(&counts.calls[c][k][way], 1);
    add(&counts.nanoseconds[c][k][way], (uint64_t)(seconds * 1e9));
}

void count_timed_native(enum plan_collective c, uint64_t total, double seconds)
{
    count_timed(c, NATIVE, total, seconds);
}

void count_rerouted(enum plan_collective c, const struct plan_algorithm *a, uint64_t total,
                    double seconds)
{
    int row = 0;

    while (row < ROWS - 1 && row < plan_algorithm_count && plan_algorithms[row] != a)
        row++;
    count_timed(c, REROUTED, total, seconds);
    add(&counts.by_row[c][size_class(total)][row], 1);
}

void count_verdict(enum plan_collective c, uint64_t total, int rerouted)
{
    add(&counts.verdicts[c][size_class(total)][rerouted], 1);
}

void count_sliced(enum plan_collective c, int on_device, int redone)
{
    add(&counts.sliced[c][0], 1);
    add(&counts.sliced[c][1], on_device);
    add(&counts.sliced[c][2], redone);
}

void count_exchange(enum count_exchange what, uint64_t n)
{
    add(&counts.exchange[what], n);
}

void count_verified(enum plan_collective c, int equal)
{
    add(&counts.verified[c][equal], 1);
}

double count_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t rerouted_calls(int c)
{
    uint64_t n = 0;

    for (int k = 0; k < SIZE_CLASSES; k++)
        n += counts.calls[c][k][REROUTED];
    return n;
}

/* What serves the collective: the row that most calls took; without any, the row that would have.
 */
static const char *main_algorithm(int c)
{
    const struct choice *choice = &mpi_process.choice[c];
    uint64_t most = 0;
    int best = -1;

    for (int row = 0; row < ROWS && row < plan_algorithm_count; row++) {
        uint64_t n = 0;
        for (int k = 0; k < SIZE_CLASSES; k++)
            n += counts.by_row[c][k][row];
        if (n > most) {
            most = n;
            best = row;
        }
    }
    if (best >= 0)
        return plan_algorithms[best]->name;
    if (choice->native || !choice->served)
        return "native";
    return (choice->forced ? choice->forced : plan_algorithm_default((enum plan_collective)c))
        ->name;
}

static void write_int(struct json *j, const char *key, uint64_t n)
{
    json_int(j, key, (long long)n);
}

static void write_reasons(struct json *j, int c)
{
    json_open(j, "native", '{');
    for (int r = 0; r < REASON_COUNT; r++)
        if (counts.native[c][r])
            write_int(j, reason_texts[r], counts.native[c][r]);
    json_close(j, '}');
}

/* To a tenth of a microsecond. */
static void write_mean(struct json *j, const char *key, uint64_t nanoseconds, uint64_t calls)
{
    uint64_t tenths = calls ? (nanoseconds / calls + 50) / 100 : 0;

    json_rounded(j, key, 15, (double)tenths / 10);
}

/* On one line. */
static void write_size(struct json *j, int c, int k)
{
    const uint64_t *n = counts.calls[c][k], *ns = counts.nanoseconds[c][k];
    const uint64_t *verdicts = counts.verdicts[c][k];

    json_open(j, NULL, '{');
    j->line = 1;
    write_int(j, "total_bytes_from", 1ull << k);
    write_int(j, "rerouted", n[REROUTED]);
    write_mean(j, "rerouted_us", ns[REROUTED], n[REROUTED]);
    write_int(j, "native", n[NATIVE]);
    write_mean(j, "native_us", ns[NATIVE], n[NATIVE]);
    write_int(j, "guard_rerouted", verdicts[REROUTED]);
    write_int(j, "guard_native", verdicts[NATIVE]);
    json_open(j, "algorithms", '{');
    for (int row = 0; row < ROWS && row < plan_algorithm_count; row++)
        if (counts.by_row[c][k][row])
            write_int(j, plan_algorithms[row]->name, counts.by_row[c][k][row]);
    json_close(j, '}');
    json_close(j, '}');
    j->line = 0;
}

static void write_exchange(struct json *j)
{
    static const char *const keys[] = {
#define EXCHANGE(id, key) key,
        COUNT_EXCHANGES(EXCHANGE)
#undef EXCHANGE
    };

    json_open(j, "balancing", '{');
    for (int i = 0; i < COUNT_EXCHANGES_COUNT; i++)
        write_int(j, keys[i], counts.exchange[i]);
    json_close(j, '}');
}

static void write_collective(struct json *j, int c)
{
    uint64_t native = 0;

    for (int r = 0; r < REASON_COUNT; r++)
        native += counts.native[c][r];
    json_open(j, NULL, '{');
    json_string(j, "collective", plan_collective_name((enum plan_collective)c));
    write_int(j, "calls", native + rerouted_calls(c));
    write_int(j, "rerouted", rerouted_calls(c));
    json_string(j, "algorithm", main_algorithm(c));
    write_int(j, "verified_equal", counts.verified[c][1]);
    write_int(j, "verified_different", counts.verified[c][0]);
    write_int(j, "sliced", counts.sliced[c][0]);
    write_int(j, "sliced_on_device", counts.sliced[c][1]);
    write_int(j, "sliced_redone", counts.sliced[c][2]);
    write_reasons(j, c);
    if (c == COLL_ALLTOALLV)
        write_exchange(j);
    json_open(j, "sizes", '[');
    for (int k = 0; k < SIZE_CLASSES; k++)
        if (counts.calls[c][k][NATIVE] || counts.calls[c][k][REROUTED])
            write_size(j, c, k);
    json_close(j, ']');
    json_close(j, '}');
}

/* Do all ranks know of each other's reports? Then the settings are the same on all. */
static int ranks_report_together(void)
{
    return mpi_process.verdict == REASON_NONE || mpi_process.verdict == REASON_TOPOLOGY;
}

static void write_report(FILE *f)
{
    char value[CFG_TEXT_MAX];
    struct json j = json_begin(f);

    json_open(&j, NULL, '{');
    json_string(&j, "collshim", COLLSHIM_VERSION);
    json_string(&j, "library", mpi_process.library_version);
    json_int(&j, "ranks", mpi_process.world_size);
    json_string(&j, "counts_are",
                ranks_report_together() ? "sums over all ranks" : "those of rank 0");
    if (mpi_process.verdict)
        json_string(&j, "all_native", reason_texts[mpi_process.verdict]);
    json_open(&j, "settings", '{');
    for (int id = 0; id < CFG_COUNT; id++) {
        cfg_value_text(&mpi_process.cfg, (enum cfg_id)id, value, sizeof value);
        json_string(&j, cfg_rows[id].name, value);
    }
    json_close(&j, '}');
    json_open(&j, "collectives", '[');
    for (int c = 0; c < COLL_COUNT; c++)
        write_collective(&j, c);
    json_close(&j, ']');
    json_close(&j, '}');
}

/* The path, with %p replaced by the process id. Returns 0 if it does not fit. */
static int report_path(char *path, size_t size)
{
    const char *from = mpi_process.cfg.report, *mark = strstr(from, "%p");

    if (!mark)
        return snprintf(path, size, "%s", from) < (int)size;
    return snprintf(path, size, "%.*s%d%s", (int)(mark - from), from, (int)getpid(), mark + 2) <
           (int)size;
}

void count_report(void)
{
    char path[CFG_TEXT_MAX + 16];
    const char *why;

    if (!mpi_process.cfg.report[0])
        return;
    if (mpi_process.world_size > 1 && ranks_report_together())
        mpi.Reduce(mpi_process.world_rank ? &counts : MPI_IN_PLACE, &counts,
                   (int)(sizeof counts / sizeof(uint64_t)), MPI_UINT64_T, MPI_SUM, 0,
                   MPI_COMM_WORLD);
    if (mpi_process.world_rank || !report_path(path, sizeof path))
        return;
    if (config_write_file(path, write_report, &why) < 0)
        say(CFG_LEVEL_WARN, "COLLSHIM_REPORT: cannot write %s: %s", path, why);
}
