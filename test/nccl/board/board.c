/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_board [--scale N] [--list] CASE...: the notice board under a keeper that is stopped, clients
 * that say or read nothing, and its end. A scale divides the keeper's patience and all waits of a
 * case; the ranks have no clock that it could miss. Exit status: 0 all held, 1 some did not.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/nccl/board/notice.h"
#include "shim/nccl/board/notice_board.h"
#include "shim/nccl/board/notice_keeper.h"
#include "shim/nccl/board/notice_wire.h"

enum { RANKS = 4, AGREEMENTS = 25, BYTES = 80, LARGE_RANKS = 64 };
enum { FILES = 1024, FILES_OPEN = 600, SILENT = 1200 };

static int passed, failed;
static double scale = 1;

__attribute__((format(printf, 2, 3))) static void check(int holds, const char *format, ...)
{
    va_list list;

    passed += holds != 0;
    failed += !holds;
    if (holds)
        return;
    va_start(list, format);
    printf("not ok ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_s(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

static double random_up_to(double most)
{
    uint32_t x = 0;

    if (getrandom(&x, sizeof x, 0) < 0)
        abort();
    return most * (double)x / 4294967296.;
}

static uint64_t new_key(void)
{
    static uint64_t last;

    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* A process that keeps a board ----------------------------------------------------------------- */

struct keeper {
    pid_t pid;
    struct notice_board board;
};

/* lives: what it does once the board is there; NULL: nothing. */
static struct keeper keeper_start(void (*lives)(void))
{
    struct keeper k = {0};
    struct notice_id made = {.address = {.v4 = {.sin_family = AF_INET}}};
    ncclUniqueId id;
    int up[2];

    made.address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (getrandom(&made.token, sizeof made.token, 0) < 0 || pipe(up))
        abort();
    k.pid = fork();
    if (k.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        notice_patience_ms = (int)(NOTICE_PATIENCE_S * 1000 / scale);
        memcpy(&id, &made, sizeof id);
        notice_keep(&id);
        if (write(up[1], &id, sizeof id) != sizeof id)
            _exit(1);
        if (lives)
            lives();
        for (;;)
            pause();
    }
    if (read(up[0], &id, sizeof id) != sizeof id || notice_find(&id, &k.board) < 0)
        abort();
    close(up[0]);
    close(up[1]);
    return k;
}

static double cpu_seconds(const struct keeper *k)
{
    char path[64], line[1024], *at;
    unsigned long user = 0, system = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)k->pid);
    f = fopen(path, "r");
    if (!f || !fgets(line, sizeof line, f) || !(at = strrchr(line, ')')))
        abort();
    fclose(f);
    sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void keeper_end(const struct keeper *k)
{
    kill(k->pid, SIGKILL);
    waitpid(k->pid, NULL, 0);
}

/* A rank of an agreement ------------------------------------------------------------------------
 */

struct rank {
    pthread_t thread;
    const struct keeper *keeper;
    uint64_t key;
    int rank, nranks, yes;
    size_t bytes;
    double late; /* seconds until it posts */
};

static void *rank_run(void *data)
{
    struct rank *r = data;
    char *mine = malloc(r->bytes), *all = malloc((size_t)r->nranks * r->bytes);
    int fd;

    if (!mine || !all)
        abort();
    memset(mine, 'a' + r->rank % 26, r->bytes);
    sleep_s(r->late);
    fd = notice_post(&r->keeper->board, r->key, r->nranks, r->rank, mine, r->bytes);
    r->yes = notice_read(fd, r->nranks, all, r->bytes, NULL) == 0;
    for (int i = 0; r->yes && i < r->nranks; i++)
        if (all[(size_t)i * r->bytes] != 'a' + i % 26 ||
            all[(size_t)(i + 1) * r->bytes - 1] != 'a' + i % 26)
            r->yes = -1;
    free(mine);
    free(all);
    return NULL;
}

static void ranks_start(struct rank *rank, int n)
{
    for (int i = 0; i < n; i++)
        if (pthread_create(&rank[i].thread, NULL, rank_run, &rank[i]))
            abort();
}

static int agree(const struct keeper *k, int nranks, size_t bytes)
{
    struct rank rank[LARGE_RANKS];
    uint64_t key = new_key();
    int yes = 0;

    for (int r = 0; r < nranks; r++)
        rank[r] =
            (struct rank){.keeper = k, .key = key, .rank = r, .nranks = nranks, .bytes = bytes};
    ranks_start(rank, nranks);
    for (int r = 0; r < nranks; r++) {
        pthread_join(rank[r].thread, NULL);
        yes += rank[r].yes == 1;
    }
    return yes;
}

/* The cases -------------------------------------------------------------------------------------
 */

struct stop {
    pthread_t thread;
    struct keeper keeper;
    double seconds;
    int rounds, yes, no, both;
};

/* Ranks come over a little more than the keeper's patience, and somewhere in that it is stopped. */
static void one_round(struct stop *s)
{
    struct rank rank[AGREEMENTS * RANKS];
    double patience = NOTICE_PATIENCE_S / scale;

    for (int i = 0; i < AGREEMENTS * RANKS; i++)
        rank[i] = (struct rank){.keeper = &s->keeper,
                                .key = i % RANKS ? rank[i - 1].key : new_key(),
                                .rank = i % RANKS,
                                .nranks = RANKS,
                                .bytes = BYTES,
                                .late = random_up_to(1.4 * patience)};
    ranks_start(rank, AGREEMENTS * RANKS);
    sleep_s(random_up_to(.4 * patience));
    kill(s->keeper.pid, SIGSTOP);
    sleep_s(s->seconds / scale);
    kill(s->keeper.pid, SIGCONT);
    for (int i = 0; i < AGREEMENTS * RANKS; i += RANKS) {
        int yes = 0;

        for (int r = i; r < i + RANKS; r++) {
            pthread_join(rank[r].thread, NULL);
            yes += rank[r].yes;
        }
        s->yes += yes == RANKS;
        s->no += yes == 0;
        s->both += yes != 0 && yes != RANKS;
    }
}

static void *stop_run(void *data)
{
    struct stop *s = data;

    for (int i = 0; i < s->rounds; i++)
        one_round(s);
    return NULL;
}

static void stopped(void)
{
    static const double seconds[] = {3, 6, 7.5, 9};
    enum { STOPS = sizeof seconds / sizeof *seconds };
    struct stop stop[STOPS];
    int yes = 0, no = 0;

    for (int i = 0; i < STOPS; i++)
        stop[i] = (struct stop){
            .keeper = keeper_start(NULL), .seconds = seconds[i], .rounds = scale > 1 ? 10 : 2};
    for (int i = 0; i < STOPS; i++)
        if (pthread_create(&stop[i].thread, NULL, stop_run, &stop[i]))
            abort();
    for (int i = 0; i < STOPS; i++) {
        pthread_join(stop[i].thread, NULL);
        check(!stop[i].both, "keeper stopped for %g s: %d of %d agreements had two answers",
              seconds[i], stop[i].both, stop[i].rounds * AGREEMENTS);
        keeper_end(&stop[i].keeper);
        yes += stop[i].yes;
        no += stop[i].no;
    }
    printf("# keeper stopped for 3 to 9 s, 1/%g of that: %d agreements, %d of yes, %d of no\n",
           scale, yes + no, yes, no);
    check(yes > 0 && no > 0, "the agreements were all alike");
}

static int *refused; /* shared: files that the keeper's program could not open; -1: not begun */

/* A program that has the usual limit, and opens files all the time. */
static void opens_files(void)
{
    const struct rlimit usual = {FILES, FILES};
    const struct timespec moment = {0, 1000000};

    setrlimit(RLIMIT_NOFILE, &usual);
    for (int fd = 0; fd < FILES_OPEN - 1;)
        fd = open("/dev/null", O_RDONLY);
    __atomic_store_n(refused, 0, __ATOMIC_RELEASE);
    for (;;) {
        int fd = open("/dev/null", O_RDONLY);

        if (fd < 0)
            __atomic_add_fetch(refused, 1, __ATOMIC_RELAXED);
        else
            close(fd);
        nanosleep(&moment, NULL);
    }
}

static int hung_up(const int *fd, int n)
{
    int gone = 0;

    for (int i = 0; i < n; i++)
        gone += poll(&(struct pollfd){.fd = fd[i], .events = POLLIN}, 1, 0) == 1;
    return gone;
}

/* Said nothing, they are closed, and cost the keeper nothing meanwhile, nor its program a file. */
static void silent(void)
{
    static int fd[SILENT];
    const int stay = (FILES - FILES_OPEN) / 8;
    struct keeper k;
    double began, before;

    refused =
        mmap(NULL, sizeof *refused, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (refused == MAP_FAILED)
        abort();
    *refused = -1;
    k = keeper_start(opens_files);
    while (__atomic_load_n(refused, __ATOMIC_ACQUIRE) < 0)
        sleep_s(.01);
    for (int i = 0; i < SILENT; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fd[i] < 0 || connect(fd[i], (struct sockaddr *)&k.board.address, k.board.length) < 0)
            abort();
    }
    before = cpu_seconds(&k);
    sleep_s(2);
    check(cpu_seconds(&k) - before < .5, "with silent clients the keeper takes %.2f of 2 s of CPU",
          cpu_seconds(&k) - before);
    check(hung_up(fd, SILENT) >= SILENT - stay, "%d of %d silent clients stay, %d may",
          SILENT - hung_up(fd, SILENT), SILENT, stay);
    check(hung_up(fd + SILENT - 1, 1) == 0, "the newest client is not the one that stays");
    began = now();
    check(agree(&k, RANKS, BYTES) == RANKS, "behind silent clients ranks do not agree");
    check(agree(&k, LARGE_RANKS, BYTES) == LARGE_RANKS, "behind silent clients many do not agree");
    check(now() - began < 2, "behind silent clients an agreement takes %.1f s", now() - began);
    check(poll(&(struct pollfd){.fd = fd[SILENT - 1], .events = POLLIN}, 1, 8000) == 1,
          "a silent client is kept");
    check(!*refused, "silent clients keep the program from opening %d files", *refused);
    for (int i = 0; i < SILENT; i++)
        close(fd[i]);
    keeper_end(&k);
}

/* A post over a connection of short segments, for which the kernel has little memory at first: as
 * of another host, not of this one. */
static int narrow_post(const struct keeper *k, uint64_t key, int nranks, const void *note,
                       size_t bytes)
{
    struct notice_post post = {.mark = NOTICE_MARK,
                               .nranks = (uint32_t)nranks,
                               .bytes = (uint32_t)bytes,
                               .token = k->board.token,
                               .key = key};
    int fd = socket(AF_INET, SOCK_STREAM, 0), segment = 536, room = 8192;

    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (connect(fd, (const struct sockaddr *)&k->board.address, k->board.length) < 0 ||
        write(fd, &post, sizeof post) != sizeof post || write(fd, note, bytes) != (ssize_t)bytes)
        abort();
    return fd;
}

/* A rank that does not read its answer, of 64 lines of 4 KB, for a while. */
static void slow_reader(void)
{
    enum { LINE = NOTICE_MOST, SLEEPS = 3 };
    struct keeper k = keeper_start(NULL);
    struct rank rank[LARGE_RANKS];
    static char mine[LINE], all[LARGE_RANKS * LINE];
    uint64_t key = new_key();
    double began = now();
    int fd, yes = 0;

    for (int r = 1; r < LARGE_RANKS; r++)
        rank[r] = (struct rank){
            .keeper = &k, .key = key, .rank = r, .nranks = LARGE_RANKS, .bytes = LINE};
    memset(mine, 'a', sizeof mine);
    fd = narrow_post(&k, key, LARGE_RANKS, mine, LINE);
    ranks_start(rank + 1, LARGE_RANKS - 1);
    for (int r = 1; r < LARGE_RANKS; r++) {
        pthread_join(rank[r].thread, NULL);
        yes += rank[r].yes == 1;
    }
    check(yes == LARGE_RANKS - 1 && now() - began < 1, "others wait for a slow reader");
    sleep_s(SLEEPS);
    check(notice_read(fd, LARGE_RANKS, all, LINE, NULL) == 0 && all[0] == 'a' &&
              all[LARGE_RANKS * LINE - 1] == 'a' + (LARGE_RANKS - 1) % 26,
          "a slow reader hears another answer than the others");
    keeper_end(&k);
}

/* The child of a fork must not keep the others waiting. */
static void forks(void)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        sleep(20);
        _exit(0);
    }
}

static void keeper_dies(void)
{
    struct keeper k = keeper_start(forks);
    char mine[BYTES] = {0}, all[BYTES * RANKS];
    double began = now();
    int fd = notice_post(&k.board, new_key(), RANKS, 0, mine, BYTES);

    sleep_s(.2);
    keeper_end(&k);
    check(notice_read(fd, RANKS, all, BYTES, NULL) < 0, "a dead keeper says yes");
    check(now() - began < 2, "a dead keeper is waited for");
}

/* It ends while it tells: all of an agreement hear the same. */
static void ends(void)
{
    sleep_s(.1 + random_up_to(.02));
    exit(0);
}

static void keeper_ends(void)
{
    int yes = 0, no = 0, both = 0;

    for (int i = 0; i < 40; i++) {
        struct keeper k = keeper_start(ends);
        int n;

        sleep_s(.1);
        n = agree(&k, LARGE_RANKS, BYTES);
        yes += n == LARGE_RANKS;
        no += n == 0;
        both += n && n != LARGE_RANKS;
        waitpid(k.pid, NULL, 0);
    }
    printf("# keeper ends: %d of yes, %d of no, %d of both\n", yes, no, both);
    check(!both, "a keeper that ends tells %d of 40 agreements two answers", both);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"stopped", stopped},
             {"silent", silent},
             {"slow_reader", slow_reader},
             {"keeper_dies", keeper_dies},
             {"keeper_ends", keeper_ends}};

int main(int argc, char **argv)
{
    struct rlimit files;

    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        int found = 0;

        if (!strcmp(argv[i], "--scale") && i + 1 < argc) {
            scale = strtod(argv[++i], NULL);
            continue;
        }
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            if (!strcmp(argv[i], "--list")) {
                puts(cases[c].name);
                found = 1;
            } else if (!strcmp(cases[c].name, argv[i])) {
                cases[c].run();
                found = 1;
            }
        if (!found) {
            fprintf(stderr, "nccl_board: no case %s\n", argv[i]);
            return 2;
        }
    }
    if (passed + failed)
        printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
