/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A preload for MPICH ranks on a fabric: three things that MPICH over UCX over TCP cannot do
 * itself. scripts/fabric run compiles it and preloads it after the user's own libraries.
 *
 * MPI_Finalize would hang. MPICH 4.0.2 (Debian 12) disconnects all its endpoints, which needs an
 * answer from every peer, and then waits for the process manager without making progress: the last
 * ranks to disconnect are never answered. With more ranks than cores about every second run hangs,
 * on a fabric or off it. MPICH's own cure was to drop that wait (its pull request 6596); from
 * outside, the same is had by making progress during it.
 *
 * Connections would leave through the wrong rail. UCX 1.13 chooses a device but does not bind its
 * sockets to it, so the kernel picks the rail that the peer's address is on. Here a socket is bound
 * to its rank's rail before it connects. A rank that uses several rails leaves it to the kernel.
 *
 * A rail would be refused. UCX 1.20 (in MPICH 5's wheel) takes a device only if the routing table
 * has no better way to a peer, and so allows a rank on rail 1 none to a peer's rail 0. Here each
 * rail reaches every other one, by rules that the table does not show.
 *
 * UCX is called through its public functions alone, declared here so that its headers are not
 * needed. Other sockets and other reads are left as they are.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, RAIL_NET = 10 << 8 | 80 /* 10.80.0.0/16, as in net.sh */ };

/* Borrowed from MPICH, from ucp_worker_create to ucp_worker_destroy. */
static void *workers[MAX_WORKERS];
static int num_workers;
static int disconnecting;

int ucp_worker_create(void *context, const void *params, void **worker_p);
void ucp_worker_destroy(void *worker);
void *ucp_disconnect_nb(void *ep);

/* The function NAME of UCX; MPICH may have been opened with local scope, so RTLD_NEXT won't do. */
static void *ucx_function(const char *name)
{
    void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);

    return ucp ? dlsym(ucp, name) : NULL;
}

int ucp_worker_create(void *context, const void *params, void **worker_p)
{
    int (*create)(void *, const void *, void **) =
        (int (*)(void *, const void *, void **))ucx_function("ucp_worker_create");
    int status = create(context, params, worker_p);

    if (status == 0 && num_workers < MAX_WORKERS) {
        workers[num_workers++] = *worker_p;
    }
    return status;
}

void ucp_worker_destroy(void *worker)
{
    void (*destroy)(void *) = (void (*)(void *))ucx_function("ucp_worker_destroy");

    for (int i = 0; i < num_workers; i++) {
        if (workers[i] == worker) {
            workers[i--] = workers[--num_workers];
        }
    }
    destroy(worker);
}

void *ucp_disconnect_nb(void *ep)
{
    void *(*disconnect)(void *) = (void *(*)(void *))ucx_function("ucp_disconnect_nb");

    disconnecting = 1;
    return disconnect(ep);
}

/* UCX's question about a device and a peer's address. */
int ucs_netlink_is_best_route(int if_index, const struct sockaddr *sa_remote);

int ucs_netlink_is_best_route(int if_index, const struct sockaddr *sa_remote)
{
    (void)if_index;
    (void)sa_remote;
    return 1;
}

static void progress_until_readable(int fd)
{
    unsigned (*progress)(void *) = (unsigned (*)(void *))ucx_function("ucp_worker_progress");
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int ready;

    while (progress && (ready = poll(&readable, 1, 0)) <= 0) {
        if (ready < 0 && errno != EINTR) {
            return;
        }
        for (int i = 0; i < num_workers; i++) {
            progress(workers[i]);
        }
        sched_yield();
    }
}

ssize_t read(int fd, void *buf, size_t nbytes)
{
    static ssize_t (*real_read)(int, void *, size_t);
    const char *pmi_fd;

    if (!real_read) {
        real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    }
    if (disconnecting && num_workers > 0 && (pmi_fd = getenv("PMI_FD")) && atoi(pmi_fd) == fd) {
        progress_until_readable(fd);
    }
    return real_read(fd, buf, nbytes);
}

/* Binds a socket that has no address yet to the one rail of this rank, if it has just one. */
static void bind_to_rail(int fd)
{
    struct sockaddr_in bound = {0};
    socklen_t size = sizeof bound;
    struct ifreq request = {0};
    const char *rail = getenv("FABRIC_RAILS");

    if (!rail || strchr(rail, ',') || strlen(rail) >= sizeof request.ifr_name) {
        return;
    }
    strcpy(request.ifr_name, rail);
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0 || bound.sin_port != 0 ||
        bound.sin_addr.s_addr != INADDR_ANY || ioctl(fd, SIOCGIFADDR, &request) != 0) {
        return;
    }
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
    memcpy(&bound, &request.ifr_addr, sizeof bound);
    bind(fd, (struct sockaddr *)&bound, sizeof bound);
}

int connect(int fd, const struct sockaddr *addr, socklen_t size)
{
    static int (*real_connect)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_in peer = {0};

    if (!real_connect) {
        real_connect =
            (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    }
    if (addr && addr->sa_family == AF_INET && size >= sizeof peer) {
        memcpy(&peer, addr, sizeof peer);
        if (ntohl(peer.sin_addr.s_addr) >> 16 == RAIL_NET) {
            bind_to_rail(fd);
        }
    }
    return real_connect(fd, addr, size);
}
