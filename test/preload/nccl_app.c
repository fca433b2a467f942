/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_app LIBRARY...: with -DLOCALLY runs what these libraries call, twice. Otherwise:
 * nccl_app LIBRARY OTHER: calls a (fake) NCCL that it is linked with, unless -DUNLINKED, and that
 * it opens; and asks dlsym() what a substitute for it could get wrong. OTHER has NCCL's names
 * alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct id {
    uint32_t word[32];
};

typedef int (*init_fn)(void **, int, struct id, int);
typedef int (*allreduce_fn)(const void *, void *, size_t, int, int, void *, void *);
typedef int (*group_fn)(void);

static void call(init_fn init, allreduce_fn allreduce, group_fn group)
{
    struct id id;
    void *comm = NULL;

    for (uint32_t i = 0; i < 32; i++)
        id.word[i] = i * i;
    /* first what has the most arguments: the first call is another way than the later ones */
    allreduce((void *)1, (void *)2, 3, 4, 5, (void *)6, (void *)7);
    init(&comm, 7, id, 5);
    group();
    printf("%s\n", comm == &comm ? "" : " and no communicator");
}

#ifndef UNLINKED
extern int ncclCommInitRank(void **, int, struct id, int);
extern int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
extern int ncclGroupStart(void);
#endif

static void call_in(const char *name, void *handle)
{
    printf("%s:", name);
    call((init_fn)dlsym(handle, "ncclCommInitRank"), (allreduce_fn)dlsym(handle, "ncclAllReduce"),
         (group_fn)dlsym(handle, "ncclGroupStart"));
}

static int in_library(void *p, const char *name)
{
    Dl_info info;

    return p && dladdr(p, &info) && strstr(info.dli_fname, name) != NULL;
}

#ifdef LOCALLY
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i <= 2 * (argc - 1); i++) {
        void *library = dlopen(argv[(i - 1) % (argc - 1) + 1], RTLD_NOW | RTLD_LOCAL);
        void (*run)(void) = library ? (void (*)(void))dlsym(library, "run") : NULL;

        if (!run)
            return 1;
        run();
    }
    (void)call_in;
    (void)in_library;
    return 0;
}
#else
int main(int argc, char **argv)
{
    void *library, *other, *older;
    const char *error;

    if (argc < 3)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifndef UNLINKED
    printf("linked:");
    call(ncclCommInitRank, ncclAllReduce, ncclGroupStart);
#endif
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    other = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!library || !other)
        return 1;
    call_in("opened", library);
    call_in("without twins", other);
    printf("twice the same: %d\n",
           dlsym(library, "ncclAllReduce") == dlsym(library, "ncclAllReduce"));
    printf("not replaced: %d\n",
           dlsym(library, "ncclGetVersion") == dlsym(library, "pncclGetVersion"));
    dlerror();
    printf("absent: %d", dlsym(library, "ncclNothing") == NULL);
    error = dlerror();
    printf(", %s\n", error && strstr(error, "ncclNothing") ? "and why" : "without a reason");
    dlsym(library, "ncclAllReduce");
    printf("present: %s\n", dlerror() ? "with an error" : "no error");
    dlsym(library, "ncclNothing");
    printf("an error is kept by what does not fail: %d\n", dlerror() != NULL);
    /* which library comes next depends on who asks: the program, not us */
    printf("next: %d %d\n", in_library(dlsym(RTLD_NEXT, "puts"), "libc.so"),
           dlsym(RTLD_NEXT, "main") == NULL);
    printf("default: %d\n", in_library(dlsym(RTLD_DEFAULT, "puts"), "libc.so"));
    older = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
    older = older ? older : dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.17");
    printf("the older name: %d\n",
           older && ((void *(*)(void *, const char *))older)(library, "pncclAllReduce") != NULL);
    return 0;
}
#endif
