/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which functions of a library does a call enter, in which order? Preloaded by test/ways/run.sh,
 * for programs with trace.h. x86-64 alone.
 *
 * A function begins with a breakpoint while a call is traced. The breakpoint goes when the function
 * is entered. So a function is noted once per call, and only if the thread that made the call comes
 * first. The environment says more:
 *
 *   TRACE_LIBRARY    the name of the library, which is loaded by then
 *   TRACE_FUNCTIONS  a file with its functions: an address a line, in hexadecimal, ascending
 *   TRACE_OUTPUT     a file to which each call is added: `call NAME`, and a line for each function
 *                    entered, with its address and the one behind its caller's jump
 *
 * Rejected: gdb, for it has to be installed and permitted; -finstrument-functions, for it takes a
 * second build.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
#define SEEN __attribute__((visibility("default")))

enum { FUNCTIONS = 16384, BREAKPOINT = 0xcc };

static struct {
    unsigned char *at, first;
} function[FUNCTIONS];
static struct {
    uintptr_t at, caller;
} entered[FUNCTIONS];
static int nfunctions, nentered;
static uintptr_t base; /* of the library */
static pthread_t traced;
static FILE *output;

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "trace: %s\n", what);
    abort();
}

/* A breakpoint has been reached. Another thread may have taken it away by now. */
static void enter(int signal, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned char *at = (unsigned char *)reg[REG_RIP] - 1;
    int low = 0, high = nfunctions;

    (void)signal;
    (void)info;
    while (high - low > 1) {
        int middle = (low + high) / 2;

        *(function[middle].at <= at ? &low : &high) = middle;
    }
    must(function[low].at == at, "an unknown breakpoint");
    *at = function[low].first;
    reg[REG_RIP] = (greg_t)at;
    if (!pthread_equal(pthread_self(), traced))
        return;
    entered[nentered].at = (uintptr_t)at;
    entered[nentered++].caller = *(uintptr_t *)reg[REG_RSP];
}

/* Threads that block all signals reach breakpoints, too. */
SEEN int sigfillset(sigset_t *set)
{
    memset(set, 0xff, sizeof *set);
    return sigdelset(set, SIGTRAP);
}

static int make_writable(struct dl_phdr_info *info, size_t size, void *name)
{
    const char *file = strrchr(info->dlpi_name, '/');
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size;
    if (!file || strcmp(file + 1, name) != 0)
        return 0;
    base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = base + p->p_vaddr, start = at & ~(page - 1);

        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            must(!mprotect((void *)start, at + p->p_memsz - start,
                           PROT_READ | PROT_WRITE | PROT_EXEC),
                 "the code cannot be made writable");
    }
    return 1;
}

static void open_files(void)
{
    const char *library = getenv("TRACE_LIBRARY"), *functions = getenv("TRACE_FUNCTIONS"),
               *to = getenv("TRACE_OUTPUT");
    FILE *list = functions ? fopen(functions, "r") : NULL;
    struct sigaction action = {.sa_sigaction = enter, .sa_flags = SA_SIGINFO | SA_RESTART};
    unsigned long at;

    must(library && list && to, "TRACE_LIBRARY, TRACE_FUNCTIONS or TRACE_OUTPUT is missing");
    must(dl_iterate_phdr(make_writable, (void *)(uintptr_t)library), "the library is not loaded");
    while (nfunctions < FUNCTIONS && fscanf(list, "%lx", &at) == 1) {
        function[nfunctions].at = (unsigned char *)(base + at);
        function[nfunctions].first = *function[nfunctions].at;
        nfunctions++;
    }
    fclose(list);
    must(nfunctions && nfunctions < FUNCTIONS, "no functions, or too many");
    must((output = fopen(to, "a")) && !sigaction(SIGTRAP, &action, NULL), "no output");
}

SEEN void tracer_begin(const char *name)
{
    if (!nfunctions)
        open_files();
    fprintf(output, "call %s\n", name);
    traced = pthread_self();
    nentered = 0;
    for (int i = 0; i < nfunctions; i++)
        *function[i].at = BREAKPOINT;
}

SEEN void tracer_end(void)
{
    for (int i = 0; i < nfunctions; i++)
        *function[i].at = function[i].first;
    for (int i = 0; i < nentered; i++)
        fprintf(output, "%lx %lx\n", entered[i].at - base, entered[i].caller - base);
    fflush(output);
}
#endif
