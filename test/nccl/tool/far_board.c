/* SPDX-License-Identifier: BSD-3-Clause */
/* The notice board is behind a slow network: each new connection of TCP takes 5 ms. Preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to,
                                                   socklen_t bytes);

int connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    int (*real)(int, const struct sockaddr *, socklen_t);

    *(void **)&real = dlsym(RTLD_NEXT, "connect");
    if (to->sa_family == AF_INET)
        usleep(5000);
    return real(fd, to, bytes);
}
