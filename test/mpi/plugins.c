/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that opens and closes plugins which call MPI: plugins SEED FILE [FILE]
 *
 * Compiled with -DPLUGIN it is such a plugin. A plugin that is opened again begins anew, so what it
 * counts is 1 each time, and its destructor runs at each close.
 */
#ifdef PLUGIN
#include <mpi.h>

int plugin_call(int *closed);

static int *told;

int plugin_call(int *closed)
{
    static int calls;
    int one = 1, sum = 0;

    told = closed;
    calls++;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum > 0 ? calls : -1;
}

__attribute__((destructor)) static void at_close(void)
{
    if (told)
        ++*told;
}
#else
#include <dlfcn.h>

#include "test/mpi/harness.h"

enum { ROUNDS = 12 };

int main(int argc, char **argv)
{
    int closed = 0;

    MPI_Init(&argc, &argv);
    test_began("plugins", argc, argv);
    for (int k = 0; k < ROUNDS && argc > 2; k++) {
        void *handle = dlopen(argv[2 + k % (argc - 2)], RTLD_NOW);
        int (*call)(int *) = NULL;

        if (handle)
            *(void **)&call = dlsym(handle, "plugin_call");
        if (!call) {
            fail("round %d: %s", k, dlerror());
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        int calls = call(&closed);
        if (calls != 1)
            fail("round %d: it has counted %d calls", k, calls);
        dlclose(handle);
        if (closed != k + 1)
            fail("round %d: closed %d times", k, closed);
    }
    int code = test_ended();
    MPI_Finalize();
    return code;
}
#endif
