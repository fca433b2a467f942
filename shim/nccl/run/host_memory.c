/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/host_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/decide/base/say.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/comm_plans.h"
#include "transports/shm/shm_file.h"

enum { HEADER = 4096 };

/* The file of rank 0. */
struct offer {
    int32_t pid, fd;
    uint64_t bytes, nonce;
};

static struct host_memory *retired;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_back(const struct cuda_calls *cu, struct host_memory *m)
{
    for (int i = 0; i < 2; i++) {
        if (m->side[i])
            cu->StreamDestroy(m->side[i]);
        if (m->done[i])
            cu->EventDestroy(m->done[i]);
    }
    if (m->ahead)
        cu->EventDestroy(m->ahead);
    if (m->order.last)
        cu->EventDestroy(m->order.last);
    if (m->at)
        cu->MemHostUnregister(m->map);
    if (m->map)
        munmap(m->map, m->bytes);
    free(m);
}

/* Later: it waits for the device. */
static void retire(const struct nccl_comm *c, struct host_memory *m)
{
    m->context = c->device.context;
    pthread_mutex_lock(&lock);
    m->next = retired;
    retired = m;
    pthread_mutex_unlock(&lock);
}

static int has_ended(const struct cuda_calls *cu, const struct use_order *t)
{
    return !(t->has_run || t->in_a_graph) || cu->EventQuery(t->last) == CUDA_SUCCESS;
}

void host_memory_trim(const struct cuda_calls *cu)
{
    struct host_memory *ended = NULL;

    pthread_mutex_lock(&lock);
    for (struct host_memory **at = &retired, *m; (m = *at);) {
        if (!has_ended(cu, &m->order)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->next = ended;
        ended = m;
    }
    pthread_mutex_unlock(&lock);
    for (struct host_memory *m = ended, *next; m; m = next) {
        next = m->next;
        cu->CtxPushCurrent(m->context);
        give_back(cu, m);
        cu->CtxPopCurrent(NULL);
    }
}

static int pin(const struct cuda_calls *cu, struct host_memory *m)
{
    CUdeviceptr at;

    if (cu->MemHostRegister(m->map, m->bytes,
                            CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE) !=
        CUDA_SUCCESS)
        return 0;
    if (cu->MemHostGetDevicePointer(&at, m->map, 0) != CUDA_SUCCESS) {
        cu->MemHostUnregister(m->map);
        return 0;
    }
    m->at = at;
    return 1;
}

static int new_event(const struct cuda_calls *cu, CUevent *e)
{
    return cu->EventCreate(e, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
}

static int make_streams(const struct cuda_calls *cu, struct host_memory *m)
{
    int well = new_event(cu, &m->ahead) && new_event(cu, &m->order.last);

    for (int i = 0; i < 2 && well; i++)
        well = new_event(cu, &m->done[i]) &&
               cu->StreamCreateWithPriority(&m->side[i], CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
    return well;
}

/* Rank 0 makes it. Returns the descriptor, or -1. */
static int make(const struct nccl_comm *c, struct host_memory *m, struct offer *o)
{
    int fd = shm_file_make();

    if (fd >= 0 && (shm_file_size(fd, m->bytes) || shm_file_map(fd, m->bytes, &m->map))) {
        close(fd);
        fd = -1;
    }
    *o = (struct offer){.pid = getpid(),
                        .fd = fd,
                        .bytes = m->bytes,
                        .nonce = nccl_comm_mix(c->notes.key, c->notes.asked)};
    if (fd >= 0)
        *(uint64_t *)m->map = o->nonce;
    return fd;
}

static int join(struct host_memory *m, const struct offer *o)
{
    int fd = o->fd < 0 || o->bytes != m->bytes ? -1 : shm_file_open(o->pid, o->fd, m->bytes);
    int well = fd >= 0 && shm_file_map(fd, m->bytes, &m->map) == 0;

    if (fd >= 0)
        close(fd);
    return well && *(uint64_t *)m->map == o->nonce;
}

static struct host_memory *open_on_all(struct nccl_comm *c, size_t bytes)
{
    struct host_memory *m = calloc(1, sizeof *m), none = {.bytes = bytes};
    struct offer o = {.fd = -1};
    int fd = -1, well = m != NULL, told;

    if (m)
        m->bytes = bytes;
    if (c->rank == 0)
        fd = make(c, m ? m : &none, &o);
    told = nccl_comm_tell(c, &o, sizeof o) == 0;
    if (told && c->rank != 0)
        well = well && join(m, &o);
    well = told && well && m->map && nccl_comm_has_kernels(c) && pin(c->cu, m) &&
           make_streams(c->cu, m);
    well = told && nccl_comm_all(c, well);
    if (fd >= 0)
        close(fd);
    if (none.map)
        munmap(none.map, bytes);
    if (well)
        return m;
    if (m)
        retire(c, m);
    if (c->rank == 0)
        say(CFG_LEVEL_INFO, "NCCL: the ranks share no pinned memory of the host");
    return NULL;
}

struct host_memory *host_memory_of(struct nccl_comm *c, int pieces, size_t piece_bytes)
{
    if (!c->host_asked) {
        c->host_asked = 1;
        c->host = open_on_all(c, HEADER + (size_t)c->nranks * (size_t)pieces * piece_bytes);
    }
    return c->host;
}

int host_memory_is_there(const struct nccl_comm *c)
{
    return c->host != NULL;
}

void host_memory_forget(struct nccl_comm *c)
{
    if (c->host)
        retire(c, c->host);
    c->host = NULL;
}
