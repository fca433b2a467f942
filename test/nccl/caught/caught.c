/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * -DLINKED: without arguments, and linked with NCCL, perhaps statically: then no library sees its
 * calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nccl {
    void *handle;
    __typeof__(&ncclGetVersion) GetVersion;
    __typeof__(&ncclGetUniqueId) GetUniqueId;
    __typeof__(&ncclCommInitRank) CommInitRank;
    __typeof__(&ncclCommDestroy) CommDestroy;
    __typeof__(&ncclAllReduce) AllReduce;
    __typeof__(&ncclGroupStart) GroupStart;
    __typeof__(&ncclGroupEnd) GroupEnd;
};

static const char *owner(void *address)
{
    Dl_info info;
    const char *slash;

    if (!address || !dladdr(address, &info))
        return "nowhere";
    slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

#ifdef LINKED
#define FIND(name) n.name = nccl##name
#else
#define FIND(name) *(void **)&n.name = dlsym(n.handle, "nccl" #name)
#endif

/* NULL: the program itself. */
static struct nccl nccl_open(const char *path)
{
    struct nccl n = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};

    if (!n.handle) {
        printf("cannot open %s: %s\n", path, dlerror());
        exit(1);
    }
    FIND(GetVersion);
    FIND(GetUniqueId);
    FIND(CommInitRank);
    FIND(CommDestroy);
    FIND(AllReduce);
    FIND(GroupStart);
    FIND(GroupEnd);
    printf("from %s: AllReduce %s, GetVersion %s\n", path ? path : "itself",
           owner((void *)n.AllReduce), owner((void *)n.GetVersion));
    return n;
}

static void ask(struct nccl *n)
{
    const char *error;
    int version = 0;

    n->GetVersion(&version);
    printf("version %d\n", version);
    if (!dlsym(n->handle, "pncclAllReduce"))
        return; /* linked statically: there is nothing to look up */
    printf("a second look finds the same: %d\n",
           dlsym(n->handle, "ncclAllReduce") == (void *)n->AllReduce);
    dlerror();
    printf("no such name: %d\n", dlsym(n->handle, "ncclNoSuchThing") == NULL);
    error = dlerror();
    printf("and why: %s\n", error ? strrchr(error, ':') : "nothing");
    dlsym(n->handle, "ncclAllReduce");
    printf("a name that is there leaves no error: %d\n", dlerror() == NULL);
    printf("twin in the library: %d\n", dlsym(n->handle, "pncclAllReduce") != NULL);
    printf("other names go on: %d %d\n", dlsym(RTLD_DEFAULT, "malloc") != NULL,
           dlsym(RTLD_NEXT, "malloc") != NULL);
    printf("groups:");
    printf(" %d", n->GroupStart());
    printf(" %d", n->GroupStart());
    printf(" %d", n->GroupEnd());
    printf(" %d", n->GroupEnd());
    printf(" %d\n", n->GroupEnd());
}

/* One rank: from another copy's function its communicator is a stranger. */
static void run(struct nccl *n, struct nccl *other)
{
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t result = n->GetUniqueId(&id);

    printf("unique id: %d\n", result);
    printf("from id: %s\n", memcmp(id.internal + 120, "\0\0\0\0\0\0", 6) ? "a board" : "none");
    if (result == ncclSuccess)
        result = n->CommInitRank(&comm, 1, id, 0);
    printf("init: %d\n", result);
    if (result != ncclSuccess)
        return;
    /* of no elements: nothing but the communicator is looked at */
    printf("call: %d\n", n->AllReduce(NULL, NULL, 0, ncclFloat, ncclSum, comm, NULL));
    if (other)
        printf("by the other copy: %d\n",
               other->AllReduce(NULL, NULL, 0, ncclFloat, ncclSum, comm, NULL));
    printf("destroy: %d\n", n->CommDestroy(comm));
}

/* The driver's primary context, where there is a driver: NCCL wants a current device. */
static void use_device(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    typedef int (*find_fn)(const char *, void **, int, unsigned long long, int *);
    find_fn find = cuda ? (find_fn)dlsym(cuda, "cuGetProcAddress_v2") : NULL;
    int (*init)(unsigned) = NULL, (*retain)(void **, int) = NULL, (*current)(void *) = NULL, found;
    void *context;

    if (!find || find("cuInit", (void **)&init, 2000, 0, &found) ||
        find("cuDevicePrimaryCtxRetain", (void **)&retain, 7000, 0, &found) ||
        find("cuCtxSetCurrent", (void **)&current, 4000, 0, &found) || init(0) ||
        retain(&context, 0))
        return;
    current(context);
}

int main(int argc, char **argv)
{
    struct nccl n, other;

#ifndef LINKED
    if (argc < 2)
        return 2;
#endif
    setvbuf(stdout, NULL, _IOLBF, 0);
    use_device();
    n = nccl_open(argv[1]);
    ask(&n);
    if (argc > 2)
        other = nccl_open(argv[2]);
    run(&n, argc > 2 ? &other : NULL);
    if (argc > 2)
        run(&other, &n);
    return 0;
}
