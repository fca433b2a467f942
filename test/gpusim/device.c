/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, their primary contexts (there are no others), and which devices may access each other.
 */
#include <stdio.h>
#include <string.h>

#include "test/gpusim/sim.h"

#define STACK 16

struct ctx sim_ctxs[SIM_DEVICES];
static __thread struct ctx *stack[STACK];
static __thread int depth;

struct ctx *sim_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

static int is_device(int d)
{
    return d >= 0 && d < sim_config.devices;
}

int sim_can_peer(int a, int b)
{
    return a != b && !sim_config.no_peer[a][b];
}

static struct ctx made[8]; /* by cuCtxCreate; never destroyed */

static struct ctx *ctx_of(CUcontext handle)
{
    struct ctx *c = (struct ctx *)handle;
    int primary = c >= sim_ctxs && c < sim_ctxs + SIM_DEVICES;

    return (primary || (c >= made && c < made + 8)) && c->retained ? c : NULL;
}

CUresult sim_DeviceGetCount(int *n)
{
    CUresult bad = sim_enter(SIM_DeviceGetCount);

    *n = sim_config.devices;
    return bad;
}

CUresult sim_DeviceGet(CUdevice *d, int ordinal)
{
    CUresult bad = sim_enter(SIM_DeviceGet);

    if (bad)
        return bad;
    *d = ordinal;
    return is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_DeviceGetName(char *name, int size, CUdevice d)
{
    CUresult bad = sim_enter(SIM_DeviceGetName);

    if (bad || !is_device(d))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "simulated device");
    return CUDA_SUCCESS;
}

CUresult sim_DeviceTotalMem(size_t *bytes, CUdevice d)
{
    CUresult bad = sim_enter(SIM_DeviceTotalMem);

    if (bad || !is_device(d))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    *bytes = sim_config.memory;
    return CUDA_SUCCESS;
}

CUresult sim_DeviceGetPCIBusId(char *id, int size, CUdevice d)
{
    CUresult bad = sim_enter(SIM_DeviceGetPCIBusId);

    if (bad || !is_device(d))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    snprintf(id, (size_t)size, "0000:%02X:00.0",
             sim_config.bus[d] ? (unsigned)sim_config.bus[d] : 16 * ((unsigned)d + 1));
    return CUDA_SUCCESS;
}

CUresult sim_DeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice d)
{
    const struct {
        CUdevice_attribute what;
        int value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, sim_config.sm / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, sim_config.sm % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
        {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, sim_config.mps},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 8000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, (int)(sim_config.hbm * 500)},
    };
    CUresult bad = sim_enter(SIM_DeviceGetAttribute);

    if (bad || !is_device(d))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].what == what) {
            *value = known[i].value;
            return CUDA_SUCCESS;
        }
    }
    sim_violation("device attribute %d is not simulated", (int)what);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_DeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
    CUresult bad = sim_enter(SIM_DeviceCanAccessPeer);

    if (bad || !is_device(a) || !is_device(b))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    *can = sim_can_peer(a, b);
    return CUDA_SUCCESS;
}

CUresult sim_DeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute what, CUdevice a, CUdevice b)
{
    CUresult bad = sim_enter(SIM_DeviceGetP2PAttribute);

    if (bad || !is_device(a) || !is_device(b) || a == b)
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    *value = sim_can_peer(a, b);
    if (what == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        *value &= !sim_config.over_pcie[a][b];
    else if (what != CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult sim_DevicePrimaryCtxRetain(CUcontext *handle, CUdevice d)
{
    CUresult bad = sim_enter(SIM_DevicePrimaryCtxRetain);
    struct ctx *c = &sim_ctxs[d];

    if (bad || !is_device(d))
        return bad ? bad : CUDA_ERROR_INVALID_DEVICE;
    c->device = d;
    if (__atomic_add_fetch(&c->retained, 1, __ATOMIC_RELAXED) == 1 && !c->legacy)
        c->legacy = stream_make(c, CU_STREAM_DEFAULT);
    *handle = (CUcontext)c;
    return c->legacy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_CtxCreate(CUcontext *handle, unsigned flags, CUdevice d)
{
    CUresult bad = sim_enter(SIM_CtxCreate);
    static int taken; /* by any thread */
    int at;

    (void)flags;
    if (bad || !is_device(d) || depth == STACK)
        return bad ? bad : CUDA_ERROR_OUT_OF_MEMORY;
    at = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    if (at >= 8)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct ctx *c = &made[at];
    c->device = d;
    c->retained = 1;
    c->legacy = stream_make(c, CU_STREAM_DEFAULT);
    stack[depth++] = c;
    *handle = (CUcontext)c;
    return c->legacy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The context stays as it is after the last release: resetting it would need everything of it
 * found; a use after it is refused all the same. */
CUresult sim_DevicePrimaryCtxRelease(CUdevice d)
{
    CUresult bad = sim_enter(SIM_DevicePrimaryCtxRelease);

    if (bad || !is_device(d) || sim_ctxs[d].retained == 0)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    __atomic_sub_fetch(&sim_ctxs[d].retained, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult sim_CtxPushCurrent(CUcontext handle)
{
    CUresult bad = sim_enter(SIM_CtxPushCurrent);
    struct ctx *c = ctx_of(handle);

    if (bad || !c || depth == STACK)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = c;
    return CUDA_SUCCESS;
}

CUresult sim_CtxPopCurrent(CUcontext *handle)
{
    CUresult bad = sim_enter(SIM_CtxPopCurrent);

    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--; /* the thread's own state, after any event on the device */
    if (handle)
        *handle = (CUcontext)stack[depth];
    return bad;
}

CUresult sim_CtxGetCurrent(CUcontext *handle)
{
    CUresult bad = sim_enter(SIM_CtxGetCurrent);

    *handle = (CUcontext)sim_current();
    return bad;
}

CUresult sim_CtxSetCurrent(CUcontext handle)
{
    CUresult bad = sim_enter(SIM_CtxSetCurrent);
    struct ctx *c = ctx_of(handle);

    if (bad || (handle && !c))
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (!c) {
        depth -= depth > 0;
        return CUDA_SUCCESS;
    }
    depth += depth == 0;
    stack[depth - 1] = c;
    return CUDA_SUCCESS;
}

CUresult sim_CtxGetDevice(CUdevice *d)
{
    CUresult bad = sim_enter(SIM_CtxGetDevice);
    struct ctx *c = sim_current();

    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    *d = c->device;
    return CUDA_SUCCESS;
}

CUresult sim_CtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
    CUresult bad = sim_enter(SIM_CtxEnablePeerAccess);
    struct ctx *c = sim_current(), *other = ctx_of(handle);

    if (bad || flags || !c || !other || c == other)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (!sim_can_peer(c->device, other->device))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (c->peer[other->device])
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    c->peer[other->device] = 1;
    return CUDA_SUCCESS;
}
