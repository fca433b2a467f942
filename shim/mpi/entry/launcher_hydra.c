/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hydra, the launcher of MPICH, Intel MPI and MVAPICH. Its ranks speak PMI-1 with a proxy on their
 * host: one line of text for each question and each answer, on the descriptor that PMI_FD names.
 * MPICH's libraries keep their own side of it hidden, so the lines are written here. (The
 * protocol: Flux RFC 13, "Simple Process Manager Interface v1".)
 *
 * The announcement goes in before the library's MPI_Init, since Hydra passes on what was put when
 * all ranks meet at the library's own barrier. Hydra begins its store with the first `init`, so
 * one precedes the announcement; the library's own `init` follows and gets the same answer. After
 * MPI_Init the library leaves the descriptor alone until it needs it again, and every question
 * here has been answered by then.
 *
 * So an answer is waited for as the library waits for its own: without a limit. An answer that came
 * behind a limit would be the library's next one. And the rank that was asked about may have heard
 * that this one is here, and would wait for it.
 *
 * A session that was opened before MPI_Init has had that barrier. A key that is put behind it
 * reaches some ranks in time and others not, so such a rank puts nothing.
 *
 * Other servers also set PMI_FD (Slurm's, ParaStation's, Flux') and may keep count of the
 * questions. So only Hydra is spoken to. It is known by the variables that it gives each rank; if
 * the process at the descriptor's other end is in sight, it must be Hydra's proxy as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/decide/base/settings.h"
#include "shim/mpi/entry/launcher.h"

enum { LINE = 1024 };

static int fd = -1;
static int placed, distrusted; /* the environment is that of a set-user-ID program's caller */
static char store[256];        /* the job's name in Hydra */

/* Is the process that made the pair of sockets something else than Hydra's proxy? Behind the wall
   of a container it cannot be seen. */
static int is_foreign(int descriptor)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    char path[64], name[32] = "";

    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return 1;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)peer.pid);
    FILE *f = peer.pid > 0 ? fopen(path, "re") : NULL;
    if (!f)
        return 0;
    char *got = fgets(name, sizeof name, f);
    fclose(f);
    return got && strcmp(name, "hydra_pmi_proxy\n") != 0;
}

/* The descriptor, if Hydra started this rank; else -1. */
static int descriptor_of_hydra(void)
{
    static const char *const marks[] = {"PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID",
                                        "GFORTRAN_UNBUFFERED_PRECONNECTED"};
    const char *number = secure_getenv("PMI_FD");

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!getenv(marks[i]))
            return -1;
    distrusted = !number && getenv("PMI_FD");
    return number && !is_foreign(atoi(number)) ? atoi(number) : -1;
}

/* The descriptor is ready for that; a signal does not end the wait. Returns 0 if its other end is
   gone. */
static int wait_for(short event)
{
    struct pollfd ready = {.fd = fd, .events = event};
    int n;

    do
        n = poll(&ready, 1, -1);
    while (n < 0 && errno == EINTR);
    return n == 1 && ready.revents & event;
}

/* Did a transfer fail for the moment only? */
static int is_early(ssize_t n)
{
    return n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK);
}

static int tell(const char *line)
{
    for (size_t left = strlen(line); left;) {
        ssize_t n = wait_for(POLLOUT) ? send(fd, line, left, MSG_NOSIGNAL) : 0;

        if (is_early(n))
            continue;
        if (n <= 0)
            return 0;
        line += n;
        left -= (size_t)n;
    }
    return 1;
}

/* One line, without its end. It is taken whole, even if it is too long. Bytes behind it are not
   ours, and stay. Returns 0 if the other end is gone, or if the line is too long. */
static int hear(char answer[LINE])
{
    char piece[LINE], *end = NULL;
    size_t got = 0;

    while (!end) {
        ssize_t n = wait_for(POLLIN) ? recv(fd, piece, sizeof piece, MSG_PEEK) : 0;

        if (is_early(n))
            continue;
        if (n <= 0)
            return 0;
        end = memchr(piece, '\n', (size_t)n);
        size_t mine = end ? (size_t)(end + 1 - piece) : (size_t)n;
        if (recv(fd, piece, mine, 0) != (ssize_t)mine)
            return 0;
        size_t kept = mine < LINE - got ? mine : LINE - got;
        memcpy(answer + got, piece, kept);
        got += kept;
    }
    int whole = answer[got - 1] == '\n';
    answer[got - 1] = 0;
    return whole;
}

/* A line out and a line back, without its end. Returns 0 if there was none. */
static int ask(const char *question, char answer[LINE])
{
    return tell(question) && hear(answer);
}

/* The word behind `name=` in an answer, copied. Returns 0 if it is not there or too long. */
static int word(const char *answer, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);

    for (const char *at = answer; (at = strstr(at, name)); at += length) {
        size_t n = strcspn(at + length, " ");

        if (at != answer && at[-1] != ' ')
            continue;
        if (n >= size)
            return 0;
        memcpy(value, at + length, n);
        value[n] = 0;
        return 1;
    }
    return 0;
}

static int went_well(const char *answer)
{
    char code[8];

    return word(answer, "rc=", code, sizeof code) && !strcmp(code, "0");
}

static void announce(void)
{
    char line[LINE], answer[LINE];

    fd = descriptor_of_hydra();
    if (fd < 0 || launcher_is_passed_by() ||
        !ask("cmd=init pmi_version=1 pmi_subversion=1\n", answer) || !went_well(answer) ||
        !ask("cmd=get_my_kvsname\n", answer) || !word(answer, "kvsname=", store, sizeof store))
        return;
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=collshim-%d value=%s\n", store,
             atoi(getenv("PMI_RANK")), settings_version);
    placed = ask(line, answer) && went_well(answer);
}

static enum launcher_state state(void)
{
    return placed ? LAUNCHER_READY : fd >= 0 || distrusted ? LAUNCHER_LOST : LAUNCHER_ABSENT;
}

static enum launcher_peer find(int rank)
{
    char line[LINE], answer[LINE], value[64];

    snprintf(line, sizeof line, "cmd=get kvsname=%s key=collshim-%d\n", store, rank);
    if (!ask(line, answer) || !went_well(answer) || !word(answer, "value=", value, sizeof value))
        return PEER_ABSENT;
    return strcmp(value, settings_version) != 0 ? PEER_OTHER_VERSION : PEER_HERE;
}

const struct launcher launcher_hydra = {
    .name = "Hydra", .announce = announce, .state = state, .find = find};
