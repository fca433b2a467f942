/* SPDX-License-Identifier: BSD-3-Clause */
/* The way in: finding functions, starting, and what every call checks first. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define SHOWN 50 /* violations; all are counted */

static const struct {
    const char *name;
    int version;
    void *function;
} calls[] = {
#define CUDA_CALL(name, version) {#name, version, (void *)sim_##name},
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
};

static pid_t started; /* the process that called cuInit; 0 before */
static long counts[SIM_CALLS];
static int violations;

int sim_call_find(const char *name, size_t length)
{
    for (int i = 0; i < SIM_CALLS; i++)
        if (strlen(calls[i].name) == length && !strncmp(calls[i].name, name, length))
            return i;
    return -1;
}

void sim_violation(const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (__atomic_add_fetch(&violations, 1, __ATOMIC_RELAXED) <= SHOWN)
        fprintf(stderr, "gpusim: %s\n", text);
}

static int owned, lost;

void sim_own(int more)
{
    __atomic_add_fetch(&owned, more, __ATOMIC_RELAXED);
}

/* For tests: are the devices lost? */
SIM_EXPORT int gpusim_lost(void);
int gpusim_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

/* For tests: how many things have not been given back; to a lost device nothing can be. */
SIM_EXPORT int gpusim_left_over(void);
int gpusim_left_over(void)
{
    return gpusim_lost() ? 0 : __atomic_load_n(&owned, __ATOMIC_RELAXED);
}

/* For tests: how many so far. */
SIM_EXPORT int gpusim_violations(void);
int gpusim_violations(void)
{
    return __atomic_load_n(&violations, __ATOMIC_RELAXED);
}

/* For tests: how often that function was called, or -1: there is none. */
SIM_EXPORT long gpusim_calls(const char *name);
long gpusim_calls(const char *name)
{
    int call = sim_call_find(name, strlen(name));

    return call < 0 ? -1 : __atomic_load_n(&counts[call], __ATOMIC_RELAXED);
}

/* For tests: make the nth call from now on fail; NULL ends it. */
SIM_EXPORT int gpusim_fail(const char *name, long nth, int code);
int gpusim_fail(const char *name, long nth, int code)
{
    int call = name ? sim_call_find(name, strlen(name)) : -1;

    sim_config.fail.call = call;
    sim_config.fail.happened = 0;
    sim_config.loses = 0;
    __atomic_store_n(&lost, 0, __ATOMIC_RELAXED);
    if (call < 0)
        return name ? -1 : 0;
    sim_config.fail.nth = counts[call] + nth;
    sim_config.fail.code = (CUresult)code;
    return 0;
}

/* For tests: the same, but from that call on everything fails; NULL finds the devices again. */
SIM_EXPORT int gpusim_lose(const char *name, long nth);
int gpusim_lose(const char *name, long nth)
{
    int rc = gpusim_fail(name, nth, SIM_LOST);

    sim_config.loses = 1;
    return rc;
}

/* For tests: has the call that was to fail been made? */
SIM_EXPORT int gpusim_failed(void);
int gpusim_failed(void)
{
    return sim_config.fail.happened;
}

/* The requested call fails, and all later ones if it takes the devices along. */
static CUresult fault(enum sim_call call, long n)
{
    if (gpusim_lost())
        return SIM_LOST;
    if (sim_config.fail.call != (int)call || sim_config.fail.nth != n)
        return CUDA_SUCCESS;
    sim_config.fail.happened = 1;
    if (sim_config.loses && !__atomic_exchange_n(&lost, 1, __ATOMIC_RELAXED))
        area_lose_imports();
    return sim_config.fail.code;
}

static int works_without_init(enum sim_call call)
{
    return call == SIM_Init || call == SIM_DriverGetVersion || call == SIM_GetErrorName ||
           call == SIM_GetErrorString;
}

CUresult sim_enter(enum sim_call call)
{
    long n = __atomic_add_fetch(&counts[call], 1, __ATOMIC_RELAXED);
    struct ctx *ctx;
    CUresult bad;

    if (works_without_init(call) && sim_config.fail.call != (int)call)
        return CUDA_SUCCESS;
    if (sim_on_stream_thread) {
        sim_violation("cu%s called from a host function", calls[call].name);
        return CUDA_ERROR_NOT_PERMITTED;
    }
    bad = fault(call, n);
    if (bad)
        return bad;
    if (works_without_init(call))
        return CUDA_SUCCESS;
    if (started != getpid()) /* also in a child after fork, as on a device */
        return CUDA_ERROR_NOT_INITIALIZED;
    ctx = sim_current();
    if (ctx && __atomic_load_n(&ctx->sticky, __ATOMIC_RELAXED))
        return __atomic_load_n(&ctx->sticky, __ATOMIC_RELAXED);
    return capture_check(call);
}

int sim_dropped(enum sim_call call)
{
    return sim_config.drop.call == (int)call &&
           __atomic_load_n(&counts[call], __ATOMIC_RELAXED) % sim_config.drop.of ==
               sim_config.drop.nth % sim_config.drop.of;
}

CUresult sim_Init(unsigned flags)
{
    CUresult bad = sim_enter(SIM_Init);

    if (bad || flags)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    if (started == getpid())
        return CUDA_SUCCESS;
    if (started)
        return CUDA_ERROR_NOT_INITIALIZED;
    const char *text = getenv("GPUSIM"), *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    if (!text) /* in a process that is given CUDA's variables alone */
        text = getenv("CUDA_GPUSIM");
    if (sim_config_read(text) < 0 || sim_clock_start() < 0)
        return CUDA_ERROR_UNKNOWN;
    if (sim_config.devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    sim_config.one_queue = queues && atoi(queues) == 1;
    started = getpid();
    return CUDA_SUCCESS;
}

CUresult sim_DriverGetVersion(int *version)
{
    CUresult bad = sim_enter(SIM_DriverGetVersion);

    *version = 13000;
    return bad;
}

static const struct {
    CUresult code;
    const char *name;
} results[] = {
#define RESULT(code)                                                                               \
    {                                                                                              \
        code, #code                                                                                \
    }
    RESULT(CUDA_SUCCESS),
    RESULT(CUDA_ERROR_INVALID_VALUE),
    RESULT(CUDA_ERROR_OUT_OF_MEMORY),
    RESULT(CUDA_ERROR_NOT_INITIALIZED),
    RESULT(CUDA_ERROR_NO_DEVICE),
    RESULT(CUDA_ERROR_INVALID_DEVICE),
    RESULT(CUDA_ERROR_INVALID_IMAGE),
    RESULT(CUDA_ERROR_INVALID_CONTEXT),
    RESULT(CUDA_ERROR_MAP_FAILED),
    RESULT(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
    RESULT(CUDA_ERROR_INVALID_HANDLE),
    RESULT(CUDA_ERROR_NOT_FOUND),
    RESULT(CUDA_ERROR_NOT_READY),
    RESULT(CUDA_ERROR_ECC_UNCORRECTABLE),
    RESULT(CUDA_ERROR_ILLEGAL_ADDRESS),
    RESULT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
    RESULT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
    RESULT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
    RESULT(CUDA_ERROR_NOT_PERMITTED),
    RESULT(CUDA_ERROR_NOT_SUPPORTED),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
    RESULT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
    RESULT(CUDA_ERROR_CAPTURED_EVENT),
    RESULT(CUDA_ERROR_OPERATING_SYSTEM),
#undef RESULT
};

CUresult sim_GetErrorName(CUresult error, const char **name)
{
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        if (results[i].code == error) {
            *name = results[i].name;
            return CUDA_SUCCESS;
        }
    }
    *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_GetErrorString(CUresult error, const char **text)
{
    return sim_GetErrorName(error, text);
}

/* The signature has to be the requested one: a later signature can have other arguments. */
SIM_EXPORT __typeof__(*(PFN_cuGetProcAddress_v12000)0) cuGetProcAddress_v2;
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    int call = strncmp(symbol, "cu", 2) ? -1 : sim_call_find(symbol + 2, strlen(symbol + 2));

    (void)flags;
    *function = NULL;
    if (status)
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (call < 0 || calls[call].version != version)
        return CUDA_ERROR_NOT_FOUND;
    if (status)
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
    *function = calls[call].function;
    return CUDA_SUCCESS;
}
