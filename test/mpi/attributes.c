/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that come and go: attributes [SEED [LOOPS]]
 *
 * The application's attribute callbacks run exactly as often as its own calls make them, its
 * attributes keep their values, nothing piles up over many communicators, and some are left
 * unfreed for MPI_Finalize to deal with.
 */
#include <malloc.h>

#include "test/mpi/harness.h"

enum { LEFT = 5, MOST = 64 };

static int copied, deleted, deleted_world;
static char world_mark, left_mark; /* whose addresses mark attributes */

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    if (value == &world_mark)
        deleted_world++;
    else
        deleted++;
    return MPI_SUCCESS;
}

static void gather(MPI_Comm comm, int number)
{
    int rank, size, sum = 0, mine, all[MOST];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine = number + rank;
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        sum += all[i] != number + i;
    if (sum)
        fail("communicator %d: %d of %d values wrong", number, sum, size);
    if (size > 1)
        expected_allgather++;
}

static void expect_value(MPI_Comm comm, int keyval, const void *value)
{
    void *found;
    int flag;

    MPI_Comm_get_attr(comm, keyval, &found, &flag);
    if (!flag || found != value)
        fail("an attribute of the application has changed");
}

/* Duplicates, their callbacks and a chain of copies. */
static void check_callbacks(int keyval)
{
    static char mark[4];
    MPI_Comm first, second;

    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    copied = deleted = 0;
    MPI_Comm_set_attr(first, keyval, mark);
    gather(first, 1);
    MPI_Comm_dup(first, &second);
    gather(second, 2);
    gather(first, 3);
    expect_value(first, keyval, mark);
    expect_value(second, keyval, mark + 1);
    if (copied != 1 || deleted != 0)
        fail("after one duplicate: %d copied, %d deleted", copied, deleted);
    MPI_Comm_delete_attr(second, keyval);
    gather(second, 4);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    if (copied != 1 || deleted != 2)
        fail("after both are freed: %d copied, %d deleted", copied, deleted);
}

/*
 * Many communicators, one after the other. Libraries have a fixed stock of them (about 2,000 in
 * MPICH), so that what is not given back is missed; memory is compared after a warm-up.
 */
static void check_leaks(int loops)
{
    size_t before = 0, after;
    MPI_Comm comm;

    for (int i = 0; i < loops; i++) {
        if (i % 2)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
        gather(comm, i);
        MPI_Comm_free(&comm);
        if (i == loops / 2)
            before = mallinfo2().uordblks;
    }
    after = mallinfo2().uordblks;
    if (after > before + 200 * (size_t)(loops / 2) + 65536)
        fail("%zu bytes more in use after %d communicators", after - before, loops - loops / 2);
}

/* MPI_Comm_split_type, names and MPI_Comm_compare see the communicator that the user made. */
static void check_appearance(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    int length, result;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "of the user");
    gather(comm, 7);
    MPI_Comm_get_name(comm, name, &length);
    if (strcmp(name, "of the user"))
        fail("the communicator's name is now '%s'", name);
    MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
    if (result != MPI_CONGRUENT)
        fail("a duplicate compares as %d", result);
    MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv)
{
    int loops = argc > 2 ? atoi(argv[2]) : 400, keyval;
    MPI_Comm left[LEFT];

    MPI_Init(&argc, &argv);
    test_began("attributes", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
    check_callbacks(keyval);
    check_leaks(loops);
    check_appearance();
    for (int i = 0; i < LEFT; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &left[i]);
        MPI_Comm_set_attr(left[i], keyval, &left_mark);
        gather(left[i], 10 + i);
    }
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &world_mark);
    gather(MPI_COMM_WORLD, 20);
    expect_value(MPI_COMM_WORLD, keyval, &world_mark);
    if (deleted_world)
        fail("an attribute of MPI_COMM_WORLD was deleted");
    int code = test_ended();
    MPI_Finalize(); /* with LEFT communicators and an attribute on MPI_COMM_WORLD */
    return code;
}
