/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions come from cuGetProcAddress with the version each row names, not from dlsym. A plain
 * `cuMemFree` in the library is the ABI of 2009, and only a header says which suffix is current.
 * Drivers older than 12.0 lack the form of cuGetProcAddress used here; the kernels that CUDA 13
 * builds do not run on them either.
 */
#define _GNU_SOURCE
#include "transports/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcuda.so.1"

static const struct row {
    const char *name;
    int version;
    size_t offset;
} rows[] = {
#define CUDA_CALL(name, version) {"cu" #name, version, offsetof(struct cuda_calls, name)},
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_calls calls;
static int ready;                      /* calls is complete; read without the lock */
static const char *why = "not opened"; /* a literal or a row's name */

/* Returns 0, or -1 with why set. */
static int fill(PFN_cuGetProcAddress_v12000 find)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUdriverProcAddressQueryResult found;
        void *function = NULL;

        if (find(rows[i].name, &function, rows[i].version, CU_GET_PROC_ADDRESS_DEFAULT, &found) !=
                CUDA_SUCCESS ||
            !function) {
            why = rows[i].name;
            return -1;
        }
        memcpy((char *)&calls + rows[i].offset, &function, sizeof function);
    }
    return 0;
}

static int open_locked(enum cuda_wish wish)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | (wish == CUDA_LOAD ? 0 : RTLD_NOLOAD));
    PFN_cuGetProcAddress_v12000 find = NULL;
    void *symbol;

    if (!library) {
        why = wish == CUDA_LOAD ? "no " LIBRARY " on this machine" : LIBRARY " is not loaded";
        return -1;
    }
    symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&find, &symbol, sizeof find);
    if (!find)
        why = "the driver is older than CUDA 12.0";
    if (!find || fill(find) < 0) {
        dlclose(library);
        return -1;
    }
    why = "";
    return 0;
}

const struct cuda_calls *cuda_open(enum cuda_wish wish)
{
    int ok;

    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return &calls;
    pthread_mutex_lock(&lock);
    ok = ready || open_locked(wish) == 0;
    if (ok)
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return ok ? &calls : NULL;
}

const char *cuda_missing(void)
{
    const char *text;

    pthread_mutex_lock(&lock);
    text = why;
    pthread_mutex_unlock(&lock);
    return text;
}

const char *cuda_result_name(CUresult result)
{
    const char *name = NULL;

    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) &&
        calls.GetErrorName(result, &name) == CUDA_SUCCESS && name)
        return name;
    return result == CUDA_SUCCESS ? "CUDA_SUCCESS" : "a CUDA error";
}

int cuda_has_mps(const struct cuda_calls *cu, CUdevice device)
{
    /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older headers lack */
    const CUdevice_attribute enabled = (CUdevice_attribute)133;
    const char *set = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[4096];
    int value;

    if (cu->DeviceGetAttribute(&value, enabled, device) == CUDA_SUCCESS)
        return value != 0;
    snprintf(path, sizeof path, "%s/control", set && *set ? set : "/tmp/nvidia-mps");
    return access(path, F_OK) == 0;
}
