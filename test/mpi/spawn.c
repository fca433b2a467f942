/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spawn [SEED [ARGUMENT...]]: processes that come later. Two children are spawned and merged with
 * the parents into one communicator, whose ranks have two different MPI_COMM_WORLDs. Calls on the
 * merged communicator must be right (collshim leaves them to the library), and so must those on the
 * parts before, between and after. Exit code 77: the library cannot spawn here.
 *
 * With arguments, those of env(1), children have another environment: without the preload (-u
 * LD_PRELOAD), or with other settings. Parents and children then get together in every way that
 * MPI has, and make so many calls that ranks with collshim would begin to talk about them.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/mpi/harness.h"

enum { CHILDREN = 2, N = 48, MOST = 64 }; /* enough that helpers get a slice */

static void gather(MPI_Comm comm, const char *what)
{
    int rank, size, mine[N], all[MOST * N], inter;

    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < N; i++)
        mine[i] = rank * N + i;
    memset(all, 0xff, sizeof all);
    MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, comm);
    if (inter)
        MPI_Comm_remote_size(comm, &size);
    for (int i = 0; i < size * N; i++)
        if (all[i] != i) {
            fail("%s: element %d is %d", what, i, all[i]);
            return;
        }
}

/* The calls that parents and children make together. */
static void together(MPI_Comm across, int high)
{
    MPI_Comm merged, half;
    int rank;

    gather(across, "between parents and children");
    MPI_Intercomm_merge(across, high, &merged);
    for (int i = 0; i < 3; i++)
        gather(merged, "merged");
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_split(merged, rank % 2, 0, &half);
    gather(half, "every other of the merged");
    MPI_Comm_free(&half);
    MPI_Comm_free(&merged);
}

/* 96 KiB: reductions of that size are those whose ranks ask each other how long they have waited.
 */
enum { LARGE = 24576, ROUNDS = 12 };
static int out[LARGE], in[MOST * LARGE];

/* Each rank sends its number, `each` times to everyone. */
static void check(const char *what, const char *call, int size, int each)
{
    for (int i = 0; i < size * each; i++)
        if (in[i] != i / each) {
            fail("%s, %s: element %d is %d", what, call, i, in[i]);
            return;
        }
}

static void sum(MPI_Comm comm, int round, const char *what)
{
    int rank, size, root = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < LARGE; i++)
        out[i] = rank + i + round;
    memset(in, 0xff, sizeof out);
    if (round % 3)
        MPI_Allreduce(out, in, LARGE, MPI_INT, MPI_SUM, comm);
    else
        MPI_Reduce(out, in, LARGE, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; i < LARGE && (round % 3 || rank == root); i++)
        if (in[i] != size * (size - 1) / 2 + size * (i + round)) {
            fail("%s: sum %d: element %d is %d", what, round, i, in[i]);
            return;
        }
}

/* Calls of which some ranks do not know all sizes. */
static void unsized(MPI_Comm comm, int each, const char *what)
{
    int rank, size, count[MOST], displ[MOST];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++)
        count[r] = each, displ[r] = r * each;
    for (int i = 0; i < size * each; i++)
        out[i] = rank;
    MPI_Gatherv(out, each, MPI_INT, in, count, displ, MPI_INT, 0, comm);
    if (!rank)
        check(what, "Gatherv", size, each);
    MPI_Alltoallv(out, count, displ, MPI_INT, in, count, displ, MPI_INT, comm);
    check(what, "Alltoallv", size, each);
    for (int i = 0; i < size * each; i++)
        out[i] = i / each;
    memset(in, 0xff, (size_t)each * sizeof *in);
    MPI_Scatterv(out, count, displ, MPI_INT, in, each, MPI_INT, 0, comm);
    for (int i = 0; i < each; i++)
        if (in[i] != rank) {
            fail("%s, Scatterv: element %d is %d", what, i, in[i]);
            return;
        }
}

/* Every way in which ranks with collshim would ask each other. */
static void talk(MPI_Comm comm, const char *what)
{
    MPI_Request request;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < ROUNDS; round++)
        sum(comm, round, what);
    for (int round = 0; round < ROUNDS; round++) {
        unsized(comm, round % 2 ? 16 : 4096, what);
        for (int i = 0; i < 4096; i++)
            out[i] = rank;
        MPI_Allgather(out, 4096, MPI_INT, in, 4096, MPI_INT, comm);
        check(what, "Allgather", size, 4096);
        MPI_Iallgather(out, 4096, MPI_INT, in, 4096, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(what, "Iallgather", size, 4096);
        MPI_Bcast(in, LARGE, MPI_INT, 0, comm);
    }
}

static void talk_merged(MPI_Comm across, int high, const char *what)
{
    MPI_Comm merged;

    MPI_Intercomm_merge(across, high, &merged);
    talk(merged, what);
    MPI_Comm_free(&merged);
}

/* Communicators made of a merged one: a copy, a part with both, a part of one side alone. */
static void talk_in_parts(MPI_Comm across, int child)
{
    MPI_Comm merged, part;
    int rank;

    MPI_Intercomm_merge(across, child, &merged);
    MPI_Comm_dup(merged, &part);
    talk(part, "a copy of the merged");
    MPI_Comm_free(&part);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_split(merged, rank % 2, 0, &part);
    talk(part, "every other of the merged");
    MPI_Comm_free(&part);
    MPI_Comm_split(merged, child, 0, &part);
    talk(part, "one side of the merged");
    MPI_Comm_free(&part);
    MPI_Comm_free(&merged);
}

/* Not every library has ports everywhere. */
static void connect_and_talk(MPI_Comm across, int child)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm new;

    if (!world_rank && child) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        if (MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS)
            port[0] = 0;
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, across);
    } else if (!world_rank) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, across, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!port[0])
        return;
    if (child)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &new);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &new);
    if (!world_rank && child)
        MPI_Close_port(port);
    talk_merged(new, child, "connected");
    MPI_Comm_disconnect(&new);
}

/* The first parent and the first child, by a socket of their own. */
static void join_and_talk(MPI_Comm across, int child)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int door = socket(AF_INET, SOCK_STREAM, 0), fd = -1;
    MPI_Comm new;

    if (child) {
        if (bind(door, (void *)&at, sizeof at) || listen(door, 1) ||
            getsockname(door, (void *)&at, &length))
            perror("a socket to join by");
        MPI_Send(&at, sizeof at, MPI_BYTE, 0, 1, across);
        fd = accept(door, NULL, NULL);
        close(door);
    } else {
        MPI_Recv(&at, sizeof at, MPI_BYTE, 0, 1, across, MPI_STATUS_IGNORE);
        fd = connect(door, (void *)&at, sizeof at) ? -1 : door;
    }
    if (fd < 0) {
        fail("no socket to join by");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_join(fd, &new);
    talk_merged(new, child, "joined");
    MPI_Comm_disconnect(&new);
    close(fd);
}

/* Both sides, each with its own view of collshim. */
static void get_together(MPI_Comm across, int child)
{
    talk_merged(across, child, "merged, parents first");
    talk_merged(across, !child, "merged, children first");
    talk_in_parts(across, child);
    connect_and_talk(across, child);
    if (!world_rank)
        join_and_talk(across, child);
}

/* Returns an MPI code. */
static int spawn(int argc, char **argv, MPI_Comm *across)
{
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    int n = 0;

    for (int i = 2; i < argc; i++)
        arguments[n++] = argv[i];
    if (argc > 2) {
        arguments[n++] = argv[0];
        arguments[n++] = argv[1];
        arguments[n++] = argv[2];
    }
    int code = argc > 2 ? MPI_Comm_spawn("/usr/bin/env", arguments, CHILDREN, MPI_INFO_NULL, 0,
                                         MPI_COMM_WORLD, across, MPI_ERRCODES_IGNORE)
                        : MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL, 0,
                                         MPI_COMM_WORLD, across, MPI_ERRCODES_IGNORE);
    free(arguments);
    return code;
}

int main(int argc, char **argv)
{
    MPI_Comm across;
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&across);
    int child = across != MPI_COMM_NULL;
    test_began(child ? "spawned" : "spawn", argc, argv);
    gather(MPI_COMM_WORLD, "world");
    if (!child) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        code = spawn(argc, argv, &across);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        if (code != MPI_SUCCESS) {
            MPI_Finalize();
            return EXIT_SKIP;
        }
    } else if (argc > 2 && !strcmp(argv[2], "-u") && getenv("LD_PRELOAD")) {
        fail("a child has the preload");
    }
    if (argc > 2)
        get_together(across, child);
    else
        together(across, child);
    gather(MPI_COMM_WORLD, "world, afterwards");
    MPI_Comm_disconnect(&across);
    if (world_size > 1)
        expected_allgather = 2;
    code = test_ended();
    MPI_Finalize();
    return code;
}
