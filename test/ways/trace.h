/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that makes calls to be traced includes this. Without the tracer (trace.c) nothing
 * happens. */
#ifndef COLLSHIM_TEST_WAYS_TRACE_H
#define COLLSHIM_TEST_WAYS_TRACE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdint.h>

/* The calls from here to trace_end are one, of that name. The caller's thread alone is traced. */
static void trace_begin(const char *name)
{
    void (*begin)(const char *) =
        (void (*)(const char *))(uintptr_t)dlsym(RTLD_DEFAULT, "tracer_begin");

    if (begin)
        begin(name);
}

static void trace_end(void)
{
    void (*end)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "tracer_end");

    if (end)
        end();
}

#endif
