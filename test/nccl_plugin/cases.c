/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plugin_cases PLUGIN CASE: NCCL's part, played for each version of each interface. run.sh says
 * which settings a case has, and reads the report that it leaves.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/nccl_plugin/player.h"

extern int passed, failed;

static const char *path;
static void *file;

static unsigned next_random(unsigned *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* Costs that NCCL may hand over: a third of the pairs cannot be used. */
static struct costs random_costs(unsigned *state)
{
    struct costs c = {.channels = 0};

    for (int a = 0; a < ALGORITHMS; a++)
        for (int p = 0; p < PROTOCOLS; p++)
            c.us[a][p] = next_random(state) % 3 ? (float)(next_random(state) % 10000) / 7 : -1;
    return c;
}

static struct costs ask(int version, const void *t, void *context, int collective, size_t bytes,
                        struct costs before)
{
    must(tuner_choose(version, t, context, collective, bytes, 0, ALGORITHMS, &before) == 0,
         "v%d: it succeeds", version);
    return before;
}

/* Nothing is to be told or reported: NCCL finds no plugin in the file. */
static void absent(void)
{
    for (int i = 0; i < VERSIONS; i++) {
        claim(!plugin_tuner(file, i), "tuner v%d is not there", 4 + i);
        claim(!plugin_profiler(file, i), "profiler v%d is not there", 4 + i);
    }
}

static void absent_tuner(void)
{
    for (int i = 0; i < VERSIONS; i++)
        claim(!plugin_tuner(file, i), "tuner v%d is not there", 4 + i);
}

static void absent_profiler(void)
{
    for (int i = 0; i < VERSIONS; i++)
        claim(!plugin_profiler(file, i), "profiler v%d is not there", 4 + i);
}

/* Rows that no call matches: every table stays as NCCL made it. */
static void untouched(void)
{
    unsigned random = 1;

    for (int i = 0; i < VERSIONS; i++) {
        const void *t = plugin_tuner(file, i);
        int same = 0, all = 0;
        void *c;

        if (!claim(t != NULL, "tuner v%d is there", 4 + i))
            continue;
        claim(tuner_open(4 + i, t, 32, 4, &c) == 0, "v%d opens", 4 + i);
        for (int collective = -1; collective < 12; collective++)
            for (size_t bytes = 0; bytes < (size_t)1 << 40; bytes = bytes * 3 + 1) {
                struct costs before = random_costs(&random);
                struct costs after = ask(4 + i, t, c, collective, bytes, before);

                same +=
                    must(!memcmp(&before, &after, sizeof after),
                         "v%d: collective %d of %zu bytes is untouched", 4 + i, collective, bytes);
                all++;
            }
        claim(same == all && all > 100, "v%d: %d of %d tables are untouched", 4 + i, same, all);
        tuner_close(4 + i, t, c);
    }
}

/* The pair costs nothing, so many channels are asked for, and nothing else has changed. */
static void assert_chosen(int version, const void *t, void *c, int collective, size_t bytes, int a,
                          int p, int channels)
{
    unsigned random = (unsigned)bytes + 7;
    struct costs before = random_costs(&random), after;

    before.us[a][p] = 123;
    after = ask(version, t, c, collective, bytes, before);
    claim(after.us[a][p] == 0 && after.channels == channels,
          "v%d: collective %d of %zu bytes takes %d/%d on %d channels: costs %g, %d channels",
          version, collective, bytes, a, p, channels, (double)after.us[a][p], after.channels);
    after.us[a][p] = 123;
    after.channels = 0;
    claim(!memcmp(&before, &after, sizeof after), "v%d: the other pairs stay", version);

    before.us[a][p] = -1; /* NCCL cannot use it here */
    after = ask(version, t, c, collective, bytes, before);
    claim(!memcmp(&before, &after, sizeof after), "v%d: a pair that is not there stays", version);
}

static void assert_left(int version, const void *t, void *c, int collective, size_t bytes)
{
    unsigned random = 3;
    struct costs before = random_costs(&random);
    struct costs after = ask(version, t, c, collective, bytes, before);

    claim(!memcmp(&before, &after, sizeof after), "v%d: collective %d of %zu bytes is NCCL's",
          version, collective, bytes);
}

/* The profile of run.sh, on 4 nodes of 8 ranks. */
static void chosen(void)
{
    for (int i = 0; i < VERSIONS; i++) {
        const void *t = plugin_tuner(file, i);
        void *c, *other;

        if (!claim(t != NULL, "tuner v%d is there", 4 + i))
            continue;
        tuner_open(4 + i, t, 31, 4, &c); /* the largest node has 8 */
        tuner_open(4 + i, t, 4, 4, &other);
        assert_chosen(4 + i, t, c, ALL_REDUCE, 1 << 20, RING, LL128, 16);
        assert_chosen(4 + i, t, c, ALL_REDUCE, 64 << 20, RING, LL128, 16);
        assert_chosen(4 + i, t, c, ALL_REDUCE, 65 << 20, TREE, SIMPLE, 0);
        assert_chosen(4 + i, t, c, REDUCE_SCATTER, 4096, PAT, SIMPLE, 0);
        assert_chosen(4 + i, t, c, ALL_GATHER, 4096, NVLS, SIMPLE, 0);
        assert_chosen(4 + i, t, c, BROADCAST, 4096, RING, LL, 0);
        assert_chosen(4 + i, t, c, REDUCE, 4096, RING, SIMPLE, 3);
        assert_left(4 + i, t, c, ALL_REDUCE, (1 << 20) - 1); /* parallel_rings, which is not here */
        assert_left(4 + i, t, c, BROADCAST, 8192);           /* native */
        assert_left(4 + i, t, other, ALL_REDUCE, 1 << 20);
        assert_left(4 + i, t, NULL, ALL_REDUCE, 1 << 20); /* it had no memory */

        struct costs small = {.us[PAT][SIMPLE] = 9}; /* an NCCL that has no PAT */
        tuner_choose(4 + i, t, c, REDUCE_SCATTER, 4096, 0, PAT, &small);
        claim(small.us[PAT][SIMPLE] == 9, "v%d: nothing behind the table is touched", 4 + i);
        tuner_close(4 + i, t, c);
        tuner_close(4 + i, t, other);
    }
}

/* Ranks differ in what they may differ in: costs, registered buffers. All choose the same pair. */
static void uniform(void)
{
    const void *t = plugin_tuner(file, 1);
    unsigned random = 5;

    for (int rank = 0; rank < 8; rank++) {
        struct costs c = random_costs(&random);
        void *context;

        c.us[RING][LL128] = (float)rank;
        c.us[TREE][SIMPLE] = 0;
        tuner_open(5, t, 32, 4, &context);
        tuner_choose(5, t, context, ALL_REDUCE, 2 << 20, rank & 1, ALGORITHMS, &c);
        claim(c.us[RING][LL128] == 0 && c.channels == 16, "rank %d takes the pair", rank);
        tuner_close(5, t, context);
    }
}

/* COLLSHIM_ALGORITHM, or COLLSHIM_EXACT, as run.sh says. */
static void forced(void)
{
    const void *t = plugin_tuner(file, 2);
    void *c;

    tuner_open(6, t, 32, 4, &c);
    assert_chosen(6, t, c, ALL_REDUCE, 17, TREE, LL, 0);
    assert_left(6, t, c, BROADCAST, 4096);      /* =native */
    assert_left(6, t, c, REDUCE, 4096);         /* =parallel_rings */
    assert_left(6, t, c, REDUCE_SCATTER, 4096); /* =native:no/such */
    assert_chosen(6, t, c, ALL_GATHER, 4096, NVLS, SIMPLE, 0);
    tuner_close(6, t, c);
}

static void exact(void)
{
    const void *t = plugin_tuner(file, 2);
    void *c;

    tuner_open(6, t, 32, 4, &c);
    assert_left(6, t, c, ALL_REDUCE, 2 << 20);
    assert_left(6, t, c, REDUCE_SCATTER, 4096);
    assert_left(6, t, c, REDUCE, 4096);
    assert_chosen(6, t, c, ALL_GATHER, 4096, NVLS, SIMPLE, 0);
    tuner_close(6, t, c);
}

static void refused(void)
{
    const void *t = plugin_tuner(file, 1);
    void *c = &file;

    claim(t && tuner_open(5, t, 32, 4, &c) == ABI_INVALID_USAGE && !c, "the tuner refuses");
}

static const struct play allreduce = {.function = "AllReduce",
                                      .datatype = "ncclFloat32",
                                      .algorithm = "RING",
                                      .protocol = "LL128",
                                      .count = 1 << 20,
                                      .channels = 4,
                                      .ends = 4,
                                      .begin = 5000000,
                                      .end = 5250000};

/* A profiler that is asked for, on rank `rank` of 32 on 4 nodes. */
static const void *profile_as(int version, int rank, void **context)
{
    const void *t = plugin_profiler(file, version - 4);
    int mask = 0;

    if (!must(t != NULL, "profiler v%d is there", version))
        exit(1);
    must(profiler_open(version, t, 42, 4, 32, rank, &mask, context) == 0, "v%d opens", version);
    must((mask & 0xff) == (ABI_COLLECTIVE | ABI_MESSAGE | ABI_KERNEL_CHANNEL),
         "v%d: mask %x has no other events", version, (unsigned)mask);
    return t;
}

/* Every kind of event, of each version. tuned: with a tuner, which then is in use. */
static void report_of(int version)
{
    void *c, *tuner, *handle;
    const void *t, *tt = plugin_tuner(file, version - 4);
    struct play p = allreduce;

    if (tt)
        tuner_open(version, tt, 32, 4, &tuner);
    t = profile_as(version, 0, &c);
    for (int i = 0; i < 10; i++)
        play(version, t, c, &p);
    p.algorithm = "TREE";
    p.channels = p.ends = 2;
    p.end += 100000;
    play(version, t, c, &p);
    p.datatype = "ncclInt8"; /* so does NCCL count it: bytes of a rank */
    p.function = "AllGather";
    p.count = 1 << 15;
    p.channels = 0; /* a symmetric kernel */
    p.algorithm = "AGxLL_R";
    p.protocol = "";
    play(version, t, c, &p);
    p.function = "Send"; /* none of ours */
    play(version, t, c, &p);
    for (int i = 0; i < 3; i++) {
        struct abi_event message = {.message = {.function = i ? "Recv" : "Send"}};

        handle = event_start(version, t, c, &message, ABI_MESSAGE);
        claim(!handle, "a message has no handle");
    }
    handle = event_start(version, t, c, &(struct abi_event){.rank = 0}, 1); /* a group */
    claim(!handle, "a group has no handle");
    handle = event_start(version, t, c, &(struct abi_event){.parent = NULL}, ABI_KERNEL_CHANNEL);
    claim(!handle, "a channel of what has no handle has none");
    handle = event_start(version, t, NULL, &(struct abi_event){.rank = 0}, ABI_COLLECTIVE);
    claim(!handle, "no memory for the communicator: no handle");
    profiler_close(version, t, c);
    if (tt)
        tuner_close(version, tt, tuner);
}

static void report_v4(void)
{
    report_of(4);
}
static void report_v5(void)
{
    report_of(5);
}
static void report_v6(void)
{
    void *c;
    const void *t = profile_as(6, 0, &c);
    struct abi_event e = {.rank = 0};

    e.collective.function = "AllGather";
    e.collective.datatype = "ncclFloat16";
    e.collective.count = 1024;
    e.collective.algorithm = (void *)0x1; /* other fields lie there */
    e.collective.protocol = (void *)0x1;
    claim(!event_start(6, t, c, &e, ABI_COPY_COLLECTIVE), "copies have no handle");
    profiler_close(6, t, c);
    report_of(6);
}

/* On another rank than 0. */
static void rank_3(void)
{
    void *c;
    const void *t = profile_as(5, 3, &c);

    play(5, t, c, &allreduce);
    profiler_close(5, t, c);
}

enum { THREADS = 4, COMMS = 100 };

static void *make_and_end(void *unused)
{
    for (int i = 0; i < COMMS; i++) {
        void *c;
        const void *t = profile_as(5, 0, &c);

        for (int k = 0; k < 5; k++)
            play(5, t, c, &allreduce);
        profiler_close(5, t, c);
    }
    return unused;
}

static void many(void)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, make_and_end, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* More collectives that never end than there is room for; then their communicator is closed. */
static void aborted(void)
{
    struct play p = allreduce;
    void *c, *other;
    const void *t = profile_as(5, 0, &c);

    profile_as(5, 0, &other);
    p.ends = 3;
    for (int i = 0; i < 5000; i++)
        play(5, t, c, &p);
    play(5, t, other, &allreduce); /* counted, not timed */
    profiler_close(5, t, c);
    play(5, t, other, &allreduce);
    profiler_close(5, t, other);
}

/* A child that ends as a program ends, with a communicator open. */
static void forked(void)
{
    void *c;
    const void *t = profile_as(5, 0, &c);
    pid_t child;
    int status = -1;

    play(5, t, c, &allreduce);
    fflush(stdout);
    child = fork();
    if (!child) {
        play(5, t, c, &allreduce);
        exit(0);
    }
    waitpid(child, &status, 0);
    claim(WIFEXITED(status) && !WEXITSTATUS(status), "the child ends well: %x", (unsigned)status);
    profiler_close(5, t, c);
}

/* NCCL closes the plugin with its last communicator. */
static void reopened(void)
{
    for (int i = 0; i < 3; i++) {
        void *c;
        const void *t = profile_as(5, 0, &c);

        play(5, t, c, &allreduce);
        profiler_close(5, t, c);
        dlclose(file);
        claim(dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL, "it stays in the process");
        file = plugin_open_file(path);
    }
}

/* The other name of the same file: one library, so that tuner and report know of each other. */
static void two_names(void)
{
    const char *name = getenv("PROFILER");
    void *other = plugin_open_file(name);
    void *c, *tuner;
    const void *tt = plugin_tuner(file, 1), *t;

    claim(other == file, "both names are one library");
    tuner_open(5, tt, 32, 4, &tuner);
    file = other;
    t = profile_as(5, 0, &c);
    play(5, t, c, &allreduce);
    profiler_close(5, t, c);
    tuner_close(5, tt, tuner);
}

/* Two NCCLs: the preload sees the one that this program opens, LIBRARY, and not the one that is
   played here. Each asks for a profiler with a logger of its own. */
static void beside_the_preload(void)
{
    void *nccl = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL), *c = &file;
    const void *t = plugin_profiler(file, 1);
    abi_logger own = player_log;
    int mask = 99;

    claim(nccl && dlsym(nccl, "ncclAllReduce"), "an NCCL is opened");
    claim(plugin_tuner(file, 1) != NULL, "the tuner is there: it must not depend on the preload");
    *(void **)&player_log = dlsym(nccl, "pncclAllReduce");
    claim(t && player_log && profiler_open(5, t, 42, 4, 32, 0, &mask, &c) == 0, "it opens");
    claim(!mask && !c, "no events of what the preload sees: mask %x", (unsigned)mask);
    player_log = own;
    t = profile_as(5, 0, &c);
    claim(c != NULL, "a call it does not see has a profiler");
    play(5, t, c, &allreduce);
    profiler_close(5, t, c);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The plugin's part of NCCL's time, the least of several looks: printed, not judged. */
static void cost(void)
{
    enum { LOOKS = 20, CALLS = 1000 };
    const void *t = plugin_tuner(file, 1), *p = plugin_profiler(file, 1);
    double question = 1e9, call = 1e9;
    struct play of_16 = allreduce;
    void *tuner, *profiler;
    int mask = 0;

    of_16.channels = of_16.ends = 16;
    claim(t && tuner_open(5, t, 32, 4, &tuner) == 0, "the tuner opens");
    claim(p && profiler_open(5, p, 42, 4, 32, 0, &mask, &profiler) == 0, "the profiler opens");
    for (int look = 0; look < LOOKS && p && t; look++) {
        struct costs c = {.channels = 0};
        double began = now_ns(), asked;

        for (int i = 0; i < CALLS; i++)
            tuner_choose(5, t, tuner, REDUCE, 4096, 0, ALGORITHMS, &c);
        asked = now_ns();
        for (int i = 0; i < CALLS; i++)
            play(5, p, profiler, &of_16);
        call = (now_ns() - asked) / CALLS < call ? (now_ns() - asked) / CALLS : call;
        question = (asked - began) / CALLS < question ? (asked - began) / CALLS : question;
    }
    printf("# a question: %.0f ns; the events of a call on 16 channels: %.0f ns\n", question, call);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"absent", absent},
    {"absent_tuner", absent_tuner},
    {"absent_profiler", absent_profiler},
    {"untouched", untouched},
    {"chosen", chosen},
    {"uniform", uniform},
    {"forced", forced},
    {"exact", exact},
    {"refused", refused},
    {"report_v4", report_v4},
    {"report_v5", report_v5},
    {"report_v6", report_v6},
    {"rank_3", rank_3},
    {"many", many},
    {"aborted", aborted},
    {"forked", forked},
    {"reopened", reopened},
    {"two_names", two_names},
    {"beside_the_preload", beside_the_preload},
    {"cost", cost},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    path = argv[1];
    file = plugin_open_file(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[2])) {
            cases[i].run();
            claim(!failed, "case %s", argv[2]);
            printf("%d passed, %d failed\n", passed, failed);
            return failed != 0;
        }
    printf("no case %s\n", argv[2]);
    return 2;
}
