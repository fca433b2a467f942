/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/ipc_window.h"

#include <sched.h>

#include "shim/helper/helpers.h"

/* Let the helper open it and leave what it had before. Returns 1 if it has. *answered: it lives. */
static int hand_over(int helper, int channel, const struct mailbox_order *order, int *answered)
{
    enum helpers_state state;

    helpers_post(helper, channel, order);
    while ((state = helpers_look(helper, channel)) == HELPERS_WORKS)
        sched_yield();
    *answered = state == HELPERS_DONE || helpers_answered(helper, channel);
    return state == HELPERS_DONE;
}

static int suffices(const struct ipc_window *l, const struct cuda_gpu *gpu, size_t bytes,
                    int combines)
{
    return l->at && l->gpu == gpu && l->bytes >= bytes && l->combines >= combines;
}

char *ipc_window_get(struct ipc_window *l, int helper, int channel, struct cuda_gpu *gpu,
                     size_t bytes, const struct cuda_place *place, const struct reduction *r)
{
    struct mailbox_order order = {.kind = MAILBOX_DEVICE,
                                  .kernel_type = r ? (int)r->kernel_type : KERNEL_NONE,
                                  .kernel_op = r ? (int)r->kernel_op : 0};
    struct ipc_window new = {.gpu = gpu, .combines = r != NULL};
    int answered = 1;

    if (l->refused)
        return NULL;
    if (suffices(l, gpu, bytes, new.combines))
        return l->at;
    new.combines |= l->combines && l->gpu == gpu;
    new.bytes = bytes > l->bytes && l->at ? bytes + bytes / 4 : bytes; /* it grows again, perhaps */
    if (helper != IPC_WINDOW_OF_NOBODY && cuda_bus_id(place, order.bus_id))
        return NULL;
    new.at = cuda_gpu_lend(gpu, new.bytes, helper == IPC_WINDOW_OF_NOBODY ? NULL : &order.lent);
    if (!new.at)
        return NULL;
    if (helper != IPC_WINDOW_OF_NOBODY)
        new.refused = !hand_over(helper, channel, &order, &answered);
    ipc_window_free(l, answered);
    *l = new;
    if (!new.refused)
        return new.at;
    ipc_window_free(l, answered);
    l->refused = 1;
    return NULL;
}

void ipc_window_free(struct ipc_window *l, int closed)
{
    if (l->at && closed)
        cuda_gpu_take_back(l->gpu, l->at);
    *l = (struct ipc_window){0};
}
