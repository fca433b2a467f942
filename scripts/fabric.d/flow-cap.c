/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A preload that limits each TCP connection of a rank to FABRIC_FLOW_CAP bytes per second. Clouds
 * limit single flows likewise, far below the rate of the network card. scripts/fabric run
 * --flow-cap compiles it and preloads it after the user's own libraries.
 *
 * The kernel does the pacing (SO_MAX_PACING_RATE; TCP paces by itself where no qdisc does, since
 * Linux 4.13). A connection that is accepted inherits the rate of the socket that listened, so
 * socket() is the one place to set it.
 *
 * A program that a rank starts with an environment of its own choosing keeps the cap all the same:
 * no host of a cloud escapes it by a clean environment.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAP "FABRIC_FLOW_CAP="
#define PRELOAD "LD_PRELOAD="

/* Made before the program starts, because execve may be called where nothing can be allocated. */
static char own_path[4096], cap[64];
static int (*real_socket)(int, int, int);
static int (*real_execve)(const char *, char *const[], char *const[]);

__attribute__((constructor)) static void prepare(void)
{
    const char *value = getenv("FABRIC_FLOW_CAP");
    Dl_info self;

    real_socket = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    real_execve = (int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execve");
    if (value && dladdr(own_path, &self) && self.dli_fname) {
        snprintf(own_path, sizeof own_path, "%s", self.dli_fname);
        snprintf(cap, sizeof cap, CAP "%s", value);
    }
}

int socket(int domain, int type, int protocol)
{
    int fd = real_socket(domain, type, protocol);

    if (fd >= 0 && cap[0] && (domain == AF_INET || domain == AF_INET6)) {
        unsigned long long rate = strtoull(cap + strlen(CAP), NULL, 10);

        setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
    }
    return fd;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    size_t n = 0, kept = 0, preload = 0;

    while (envp && envp[n]) {
        if (!strncmp(envp[n], CAP, strlen(CAP)))
            return real_execve(path, argv, envp); /* the environment was handed on */
        n++;
    }
    if (!cap[0])
        return real_execve(path, argv, envp);
    char **given = alloca((n + 3) * sizeof *given);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(envp[i], PRELOAD, strlen(PRELOAD)))
            preload = strlen(envp[i]) - strlen(PRELOAD);
    char *libraries = alloca(sizeof PRELOAD + preload + 1 + sizeof own_path);
    strcpy(libraries, PRELOAD);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(envp[i], PRELOAD, strlen(PRELOAD)))
            strcat(strcpy(libraries, envp[i]), ":");
        else
            given[kept++] = envp[i];
    given[kept++] = strcat(libraries, own_path);
    given[kept++] = cap;
    given[kept] = NULL;
    return real_execve(path, argv, given);
}
