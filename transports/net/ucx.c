/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's tag holds team, sender and the plan's tag, so UCX's order of matching is the order of
 * plans.
 *
 * Endpoints report no errors of their own (UCP_ERR_HANDLING_MODE_NONE), the cheapest form. The rank
 * that watches its helpers learns of a dead one sooner than a network would.
 */
#include "transports/net/ucx.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define LIBRARY "libucp.so.0"

enum { TAG_BITS = 16, RANK_BITS = 24 };

static struct {
#define UCX_CALL(name) __typeof__(&name) name;
#include "transports/net/ucx_calls.def"
#undef UCX_CALL
} calls;

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define UCX_CALL(name_) {#name_, offsetof(__typeof__(calls), name_)},
#include "transports/net/ucx_calls.def"
#undef UCX_CALL
};

/* A connection to the worker of that address. */
struct link {
    struct link *next;
    ucp_ep_h ep;
    size_t bytes;
    char address[];
};

struct ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address; /* owned by UCX, until ucx_close */
    size_t address_bytes;
    int event_fd;
    struct link *links; /* owned */
    int ended;          /* some message did since the last ucx_progress() */
};

/* A message under way. */
struct ucx_flight {
    struct team *team; /* borrowed */
    void *request;     /* UCX's; NULL: none, it ended at once */
};

struct team {
    struct ucx *ucx; /* borrowed */
    uint64_t team;
    int rank, nranks;
    const char *addresses; /* borrowed */
    size_t address_bytes;
    ucp_ep_h *ep; /* [nranks] owned; the endpoints are the worker's; NULL: not used yet */
    struct ucx_flight *flight; /* [nslots] owned */
    unsigned *done;            /* [nslots] owned: slots that ended since the last poll */
    unsigned ndone, nslots;
    int failed; /* a message ended with an error */
};

static int load(char *why, size_t why_size)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(why, why_size, "no " LIBRARY " on this machine");
        return -ENOTSUP;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *function = dlsym(library, rows[i].name);

        if (!function) {
            snprintf(why, why_size, LIBRARY " has no %s", rows[i].name);
            return -ENOTSUP;
        }
        memcpy((char *)&calls + rows[i].offset, &function, sizeof function);
    }
    return 0;
}

static ucs_status_t open_context(struct ucx *u)
{
    ucp_params_t wanted = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP};
    ucp_config_t *config;
    ucs_status_t status = calls.ucp_config_read(NULL, NULL, &config);

    if (status != UCS_OK)
        return status;
    status = calls.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &wanted, config, &u->context);
    calls.ucp_config_release(config);
    return status;
}

static ucs_status_t open_worker(struct ucx *u)
{
    ucp_worker_params_t wanted = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucs_status_t status = calls.ucp_worker_create(u->context, &wanted, &u->worker);

    if (status == UCS_OK)
        status = calls.ucp_worker_get_efd(u->worker, &u->event_fd);
    if (status == UCS_OK)
        status = calls.ucp_worker_get_address(u->worker, &u->address, &u->address_bytes);
    return status;
}

int ucx_open(struct ucx **u_p, char *why, size_t why_size)
{
    struct ucx *u = calloc(1, sizeof *u);
    int rc = u ? load(why, why_size) : -ENOMEM;

    if (rc) {
        free(u);
        return rc;
    }
    ucs_status_t status = open_context(u);
    if (status == UCS_OK)
        status = open_worker(u);
    if (status != UCS_OK) {
        snprintf(why, why_size, "UCX: %s", calls.ucs_status_string(status));
        ucx_close(u);
        return -ENOTSUP;
    }
    *u_p = u;
    return 0;
}

/* Endpoints go with the worker: a proper farewell would need an answer from every peer. */
void ucx_close(struct ucx *u)
{
    if (!u)
        return;
    while (u->links) {
        struct link *first = u->links;
        u->links = first->next;
        free(first);
    }
    if (u->address)
        calls.ucp_worker_release_address(u->worker, u->address);
    if (u->worker)
        calls.ucp_worker_destroy(u->worker);
    if (u->context)
        calls.ucp_cleanup(u->context);
    free(u);
}

const void *ucx_address(const struct ucx *u, size_t *bytes)
{
    *bytes = u->address_bytes;
    return u->address;
}

int ucx_progress(struct ucx *u)
{
    while (calls.ucp_worker_progress(u->worker))
        ;
    int ended = u->ended;
    u->ended = 0;
    return ended;
}

int ucx_event_fd(const struct ucx *u)
{
    return u->event_fd;
}

int ucx_may_sleep(struct ucx *u)
{
    return calls.ucp_worker_arm(u->worker) == UCS_OK;
}

/* The connection to the worker of that address, made if there is none. NULL: it cannot be. */
static ucp_ep_h connect_to(struct ucx *u, const void *address, size_t bytes)
{
    struct link *l;

    for (l = u->links; l; l = l->next)
        if (l->bytes == bytes && !memcmp(l->address, address, bytes))
            return l->ep;
    l = malloc(sizeof *l + bytes);
    if (!l)
        return NULL;
    l->bytes = bytes;
    memcpy(l->address, address, bytes);
    ucp_ep_params_t wanted = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address = (const ucp_address_t *)l->address};
    if (calls.ucp_ep_create(u->worker, &wanted, &l->ep) != UCS_OK) {
        free(l);
        return NULL;
    }
    l->next = u->links;
    u->links = l;
    return l->ep;
}

static uint64_t ucx_tag(const struct team *t, int sender, int tag)
{
    return t->team << (RANK_BITS + TAG_BITS) | (uint64_t)sender << TAG_BITS | (uint64_t)tag;
}

static void note(struct ucx_flight *f, ucs_status_t status)
{
    struct team *t = f->team;

    t->ucx->ended = 1;
    t->failed |= status != UCS_OK && status != UCS_ERR_CANCELED;
    t->done[t->ndone++] = (unsigned)(f - t->flight);
}

static void on_sent(void *request, ucs_status_t status, void *flight)
{
    (void)request;
    note(flight, status);
}

static void on_received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                        void *flight)
{
    (void)request;
    (void)info;
    note(flight, status);
}

/* The result of a call of UCX: a request that will end by its callback, the end itself, or an
   error. */
static int begun(struct ucx_flight *f, ucs_status_ptr_t got)
{
    f->request = NULL;
    if (UCS_PTR_IS_ERR(got))
        return -EIO;
    if (UCS_PTR_IS_PTR(got))
        f->request = got;
    else
        note(f, UCS_OK);
    return 0;
}

static int ucx_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    struct team *t = state;
    struct ucx_flight *f = &t->flight[slot];
    ucp_request_param_t how = {.op_attr_mask =
                                   UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                               .cb.send = on_sent,
                               .user_data = f};

    if (!t->ep[peer])
        t->ep[peer] =
            connect_to(t->ucx, t->addresses + (size_t)peer * t->address_bytes, t->address_bytes);
    if (!t->ep[peer])
        return -EIO;
    return begun(f,
                 calls.ucp_tag_send_nbx(t->ep[peer], buf, length, ucx_tag(t, t->rank, tag), &how));
}

static int ucx_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct team *t = state;
    struct ucx_flight *f = &t->flight[slot];
    ucp_request_param_t how = {.op_attr_mask =
                                   UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                               .cb.recv = on_received,
                               .user_data = f};

    return begun(f, calls.ucp_tag_recv_nbx(t->ucx->worker, buf, length, ucx_tag(t, peer, tag),
                                           UINT64_MAX, &how));
}

static int ucx_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct team *t = state;

    calls.ucp_worker_progress(t->ucx->worker);
    for (unsigned i = 0; i < t->ndone; i++) {
        struct ucx_flight *f = &t->flight[t->done[i]];

        if (f->request)
            calls.ucp_request_free(f->request);
        f->request = NULL;
        done[i] = t->done[i];
    }
    *ndone = t->ndone;
    t->ndone = 0;
    return t->failed ? -EIO : 0;
}

/* Requests that are freed before they end are UCX's to finish; their callbacks do not come. */
static void ucx_abandon(void *state)
{
    struct team *t = state;

    for (unsigned slot = 0; slot < t->nslots; slot++) {
        struct ucx_flight *f = &t->flight[slot];

        if (!f->request)
            continue;
        calls.ucp_request_cancel(t->ucx->worker, f->request);
        calls.ucp_request_free(f->request);
        f->request = NULL;
    }
    t->ndone = 0;
}

static int ucx_reserve(void *state, unsigned nslots)
{
    struct team *t = state;

    t->ndone = 0;
    if (nslots > t->nslots) {
        struct ucx_flight *flight = calloc(nslots, sizeof *flight);
        unsigned *done = malloc(nslots * sizeof *done);

        if (!flight || !done) {
            free(flight);
            free(done);
            return -ENOMEM;
        }
        free(t->flight);
        free(t->done);
        t->flight = flight;
        t->done = done;
        t->nslots = nslots;
        for (unsigned slot = 0; slot < nslots; slot++)
            flight[slot].team = t;
    }
    return 0;
}

int xport_ucx_open(struct ucx *u, uint32_t team, int rank, int nranks, const void *addresses,
                   size_t address_bytes, struct xport *x)
{
    if (nranks > 1 << RANK_BITS || team >= UCX_TEAMS)
        return -E2BIG;
    struct team *t = calloc(1, sizeof *t);
    ucp_ep_h *ep = calloc((size_t)nranks, sizeof(ucp_ep_h));
    if (!t || !ep) {
        free(t);
        free(ep);
        return -ENOMEM;
    }
    *t = (struct team){.ucx = u,
                       .team = team,
                       .rank = rank,
                       .nranks = nranks,
                       .addresses = addresses,
                       .address_bytes = address_bytes,
                       .ep = ep};
    *x = (struct xport){.name = "ucx",
                        .state = t,
                        .send = ucx_send,
                        .recv = ucx_recv,
                        .poll = ucx_poll,
                        .abandon = ucx_abandon,
                        .reserve = ucx_reserve};
    return 0;
}

void xport_ucx_close(struct xport *x)
{
    struct team *t = x->state;

    if (!t)
        return;
    ucx_abandon(t);
    free(t->ep);
    free(t->flight);
    free(t->done);
    free(t);
    x->state = NULL;
}
