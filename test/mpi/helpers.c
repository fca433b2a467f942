/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that helpers carry slices of, while something happens to them: helpers SEED HOW
 *
 * HOW: plain        nothing
 *      between      a helper of rank 1 is killed between two calls
 *      during       one of them is killed at any moment of a call, by a thread
 *      frozen       a helper of rank 1 is stopped (SIGSTOP) between two calls
 *      frozen_late  the same behind the last call
 *      children     the application starts children of its own and waits until there are none
 *      denied       the system refuses to let processes read each other's memory (seccomp)
 *      traced       rank 1 has a tracer, as under a debugger
 *      stopped      rank 1 has a debugger that stops it for a second while the others are in a call
 *      idle         helpers have nothing to do for a while
 *      killed       rank 1 is killed while the others are in a call (SIGKILL)
 *      abort        rank 1 calls MPI_Abort while the others are in a call
 *      endless      nothing, and it goes on until the job is killed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/mpi/harness.h"
#include "test/mpi/own_helper.h"

enum { ROUNDS = 6, LARGEST = 40000 };
static const char *how;

static pthread_t killer;
static int killed;

static void *kill_soon(void *unused)
{
    unsigned seed = (unsigned)getpid();

    (void)unused;
    usleep((useconds_t)rand_r(&seed) % 20000);
    kill_a_helper();
    __atomic_store_n(&killed, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* From here on, in this process and all that it starts. */
static void refuse_reading(void)
{
    struct sock_filter rule[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rule / sizeof *rule, rule};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        fail("seccomp: %s", strerror(errno));
}

/* Returns the tracer; it lives until it is killed, and lets signals through. */
static int be_traced(void)
{
    int ready[2], status;
    char word = 0;

    if (pipe(ready))
        return -1;
    pid_t tracer = fork();
    if (tracer == 0) {
        if (ptrace(PTRACE_SEIZE, owner, NULL, NULL) == 0)
            word = 'y';
        if (write(ready[1], &word, 1) != 1)
            _exit(1);
        while (waitpid(owner, &status, __WALL) == owner && WIFSTOPPED(status))
            ptrace(PTRACE_CONT, owner, NULL, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
        _exit(0);
    }
    if (read(ready[0], &word, 1) != 1 || word != 'y')
        fail("no tracer: ptrace is refused");
    return tracer;
}

/* Clock ticks that a process has worked. */
static long ticks_of(int pid)
{
    char path[64], text[1024], *at = NULL;
    unsigned long user = 0, system = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f) && (at = strrchr(text, ')')))
        sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    if (f)
        fclose(f);
    return at ? (long)(user + system) : -1;
}

/* A debugger attaches to this process alone, stops it, looks around for a while, and leaves. Its
   helper has nothing to do meanwhile, and sleeps. */
static void be_stopped(void)
{
    enum { SECONDS = 2, TENTH = 10 };
    int status = 0;

    fflush(NULL);
    pid_t debugger = fork();
    if (debugger == 0) {
        int helper = find_helper(), well = helper > 0;

        well = well && !ptrace(PTRACE_SEIZE, owner, NULL, NULL) &&
               !ptrace(PTRACE_INTERRUPT, owner, NULL, NULL) && waitpid(owner, &status, 0) == owner;
        sleep(1); /* the others come to wait for it */
        long before = ticks_of(helper);
        sleep(SECONDS);
        well = well && ticks_of(helper) - before <= SECONDS * sysconf(_SC_CLK_TCK) / TENTH;
        ptrace(PTRACE_DETACH, owner, NULL, NULL);
        _exit(!well);
    }
    if (waitpid(debugger, &status, 0) != debugger || status)
        fail("a debugger was refused, or the helper of a stopped rank works");
}

/* The wait of a shell, or of a program with workers: it must see its own children and no others. */
static void start_children(void)
{
    enum { CHILDREN = 3 };
    int ended = 0;

    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            _exit(0);
    while (wait(NULL) > 0)
        ended++;
    if (ended != CHILDREN || errno != ECHILD)
        fail("%d children ended, and then: %s", ended, strerror(errno));
}

static unsigned value(int rank, int i)
{
    return (unsigned)(rank + 1) * 2654435761u + (unsigned)i * 40503u;
}

static unsigned sum(int i)
{
    unsigned total = 0;

    for (int r = 0; r < world_size; r++)
        total += value(r, i);
    return total;
}

static void check_sums(const char *call, const unsigned *got, int n, int first)
{
    for (int i = 0; i < n; i++)
        if (got[i] != sum(first + i)) {
            fail("%s: element %d of %d is %u, not %u", call, i, n, got[i], sum(first + i));
            return;
        }
}

static void reduce(unsigned *in, unsigned *out, int n)
{
    for (int i = 0; i < n; i++)
        in[i] = out[i] = value(world_rank, i);
    MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    check_sums("allreduce in place", out, n, 0);
    memset(out, 0xff, (size_t)n * sizeof *out);
    MPI_Allreduce(in, out, n, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    check_sums("allreduce", out, n, 0);
    for (int i = 0; i < n; i++)
        if (in[i] != value(world_rank, i)) {
            fail("allreduce wrote to element %d of its input", i);
            break;
        }
    int block = n / world_size;
    memset(out, 0xff, (size_t)n * sizeof *out);
    MPI_Reduce_scatter_block(in, out, block, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    check_sums("reduce_scatter_block", out, block, world_rank * block);
    if (block < n && out[block] != 0xffffffffu)
        fail("reduce_scatter_block wrote behind its block");
}

static void gather(unsigned *in, unsigned *out, int n, int in_place)
{
    unsigned *own = in_place ? out + (size_t)world_rank * (size_t)n : in;

    memset(out, 0xff, (size_t)n * (size_t)world_size * sizeof *out);
    for (int i = 0; i < n; i++)
        own[i] = value(world_rank, i);
    MPI_Allgather(in_place ? MPI_IN_PLACE : in, n, MPI_UNSIGNED, out, n, MPI_UNSIGNED,
                  MPI_COMM_WORLD);
    for (int k = 0; k < world_size * n; k++)
        if (out[k] != value(k / n, k % n)) {
            fail("allgather%s: element %d is wrong", in_place ? " in place" : "", k);
            return;
        }
}

static void broadcast(unsigned *out, int n, int root)
{
    for (int i = 0; i < n; i++)
        out[i] = world_rank == root ? value(root, i) : 0;
    MPI_Bcast(out, n, MPI_UNSIGNED, root, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        if (out[i] != value(root, i)) {
            fail("bcast: element %d is wrong", i);
            return;
        }
}

/* KiB that no other process has a part in. */
static long private_kib(int pid)
{
    char path[64], line[256];
    long kib = 0, n;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Private_Clean: %ld", &n) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &n) == 1)
            kib += n;
    if (f)
        fclose(f);
    return kib;
}

/* One per cent of a core is one tick in a second. */
static void look_at_idle_helper(void)
{
    enum { IDLE_SECONDS = 4 };
    int pid = find_helper();
    long before = ticks_of(pid);

    sleep(IDLE_SECONDS);
    long spent = ticks_of(pid) - before;
    printf("helpers: an idle one worked %ld ms of %d s, and has %ld KiB of its own\n",
           spent * 1000 / sysconf(_SC_CLK_TCK), IDLE_SECONDS, private_kib(pid));
    if (pid < 0 || before < 0)
        fail("no helper to look at");
    if (spent * 100 > IDLE_SECONDS * sysconf(_SC_CLK_TCK))
        fail("an idle helper works");
}

/* The end of rank 1 in the third round. */
static void happen(void)
{
    if (!strcmp(how, "children"))
        start_children();
    if (world_rank != 1)
        return;
    if (!strcmp(how, "between"))
        kill_a_helper();
    if (!strcmp(how, "frozen"))
        signal_a_helper(SIGSTOP);
    if (!strcmp(how, "stopped"))
        be_stopped();
    if (!strcmp(how, "during") && pthread_create(&killer, NULL, kill_soon, NULL))
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (!strcmp(how, "killed"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv)
{
    int tracer = -1;

    how = argc > 2 ? argv[2] : "plain";
    mark_helpers();
    if (!strcmp(how, "denied"))
        refuse_reading();
    MPI_Init(&argc, &argv);
    test_began("helpers", argc, argv);
    unsigned *in = malloc(LARGEST * sizeof *in);
    unsigned *out = malloc((size_t)LARGEST * (size_t)world_size * sizeof *out);
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (!strcmp(how, "traced") && world_rank == 1)
        tracer = be_traced();
    for (int round = 0; round < ROUNDS || !strcmp(how, "endless"); round++) {
        int n = round % ROUNDS == ROUNDS - 1 ? LARGEST : 1 << (2 * (round % ROUNDS) + 5);

        if (round == 2)
            happen();
        reduce(in, out, n);
        gather(in, out, n / 2, round & 1);
        broadcast(out, n, round % world_size);
    }
    if (!strcmp(how, "idle") && world_rank == 1)
        look_at_idle_helper();
    for (int dead = strcmp(how, "during") != 0; !dead;) { /* and once more when it is */
        dead = __atomic_load_n(&killed, __ATOMIC_ACQUIRE);
        MPI_Bcast(&dead, 1, MPI_INT, 1, MPI_COMM_WORLD);
        reduce(in, out, LARGEST);
    }
    if (!strcmp(how, "during") && world_rank == 1)
        pthread_join(killer, NULL);
    if (tracer > 0) {
        kill(tracer, SIGKILL);
        waitpid(tracer, NULL, 0);
    }
    if (!strcmp(how, "frozen_late") && world_rank == 1)
        signal_a_helper(SIGSTOP);
    free(in);
    free(out);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
