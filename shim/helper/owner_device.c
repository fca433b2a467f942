/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All channels use one device, which is the owner's in the first order. With contexts of one device
 * only, alternating runs cannot use each other's.
 */
#include "shim/helper/owner_device.h"

#include <errno.h>
#include <string.h>

#include "config/base/near.h"

static struct {
    int asked, rc;
    char bus_id[CUDA_BUS_ID];
    struct cuda_place place;
} chosen;

static int choose(const char *bus_id, int processes)
{
    if (!chosen.asked) {
        chosen.asked = 1;
        memcpy(chosen.bus_id, bus_id, sizeof chosen.bus_id);
        near_device(bus_id, processes);
        chosen.rc = cuda_start(bus_id, &chosen.place);
    }
    return strncmp(chosen.bus_id, bus_id, sizeof chosen.bus_id) != 0 ? -ENOTSUP : chosen.rc;
}

int owner_device_open(struct owner_device *r, const struct mailbox_order *o, int processes)
{
    enum kernel_type type = (enum kernel_type)o->kernel_type;

    if (r->gpu)
        cuda_gpu_leave(r->gpu, r->at);
    r->at = NULL;
    int rc = choose(o->bus_id, processes);
    if (!rc && !r->gpu)
        rc = cuda_gpu_open(&chosen.place, &r->gpu);
    if (rc)
        return rc;
    if (type != KERNEL_NONE && !cuda_gpu_combines(r->gpu, type, (enum kernel_op)o->kernel_op))
        return -ENOTSUP;
    r->at = cuda_gpu_reach(r->gpu, &o->lent);
    return r->at ? 0 : -EIO;
}

void owner_device_close(struct owner_device *r)
{
    if (r->gpu)
        cuda_gpu_leave(r->gpu, r->at);
    cuda_gpu_close(r->gpu);
    *r = (struct owner_device){0};
}
