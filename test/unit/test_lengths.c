/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about as long as an int, or 32 bits, can count. Memory of that size is never touched.
 * MPI is a table that notes lengths. The system's calls that read and write another process's
 * memory are this program's own. Bytes that are copied through cells come from the kernel's page of
 * zeros.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "planners/check/check.h"
#include "planners/choose/slices.h"
#include "shim/helper/mailbox.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"
#include "transports/engine/route.h"
#include "transports/net/mpi_p2p.h"
#include "transports/shm/shm.h"

#define TWO_GIB ((size_t)1 << 31)
#define FOUR_GIB ((size_t)1 << 32)

static const size_t lengths[] = {TWO_GIB - 1,  TWO_GIB,  TWO_GIB + 1,
                                 FOUR_GIB - 1, FOUR_GIB, FOUR_GIB + 4096};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Plans --------------------------------------------------------------------------------------- */

/* The last one's last rank has no GPU. */
static const char *const shapes[] = {"node:1 rank:2", "node:1 rank:4",
                                     "node:1 gpu:3",  "node:2 rank:2 rail:2@100Mbit,50Mbit",
                                     "node:2 gpu:2",  "node:1 gpu:3"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct topo *shape(int i)
{
    struct topo *t = test_topo_parse(shapes[i]);

    if (i == SHAPES - 1)
        t->rank[t->nranks - 1].gpu = -1;
    return t;
}

/* All that may name a chunk: our own choice, and the largest wish. Returns how many. */
static int chunks_of(const struct plan_request *q, size_t *chunk)
{
    int n = plan_chunks(q, chunk);

    chunk[n] = plan_chunk(q, SIZE_MAX);
    return n + 1;
}

static void check_messages(const struct plan *p, const struct plan_request *q, size_t most)
{
    must(p->chunk_bytes <= most, "%s: %s in chunks of %llu bytes", p->algorithm,
         plan_collective_name(q->collective), (unsigned long long)p->chunk_bytes);
    must(p->chunk_bytes % q->grain == 0, "%s: a chunk cuts an element", p->algorithm);
}

/* The checker goes chunk by chunk, so it gets the longest ones alone. */
static void check_plans(const struct plan_algorithm *a, struct plan_request *q)
{
    size_t chunk[PLAN_CHUNKS + 1];
    char why[256] = "";
    int gpus = q->topo->rank[0].gpu >= 0, rc;

    for (int n = chunks_of(q, chunk), i = 0; i < n; i++) {
        q->chunk_bytes = chunk[i];
        for (q->rank = 0; q->rank < q->topo->nranks; q->rank++) {
            struct plan *p = NULL;

            if (a->build(q, &p) == -ENOTSUP)
                return;
            must(p, "%s has no plan for %zu bytes", a->name, q->nbytes);
            check_messages(p, q, gpus ? 16 << 20 : PLAN_MOST_CHUNK);
            plan_free(p);
        }
        q->rank = 0;
    }
    rc = plan_check_algorithm(q, a, why, sizeof why);
    must(!rc, "%s, %s, blocks of %zu: %s", a->name, plan_collective_name(q->collective), q->nbytes,
         why);
}

static void check_row(const struct plan_algorithm *a, enum plan_collective c, int s, size_t bytes)
{
    struct topo *t = shape(s);
    size_t pairs = (size_t)t->nranks * (size_t)t->nranks;
    uint64_t *demand = calloc(pairs, sizeof *demand);
    size_t grain = plan_is(c, PLAN_COMBINES) ? 24 : 1; /* no power of two */
    struct plan_request q = {.collective = c,
                             .topo = t,
                             .nbytes = bytes / grain * grain,
                             .grain = grain,
                             .recipe =
                                 a->accepts && !strcmp(a->name, "compose") ? "pipeline=1" : NULL};

    ck_assert_ptr_nonnull(demand);
    if (plan_has_demand(c)) {
        q.nbytes = 0;
        q.demand = demand;
        demand[1] = demand[pairs - 2] = bytes; /* the first rank's to the next, and the last's */
    }
    check_plans(a, &q);
    free(demand);
    topo_free(t);
}

START_TEST(test_lengths__every_plan_keeps_messages_to_what_an_int_counts)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            for (int i = 0; plan_algorithms[a]->collectives & 1u << c && i < LENGTHS; i++)
                check_row(plan_algorithms[a], (enum plan_collective)c, _i, lengths[i]);
}
END_TEST

START_TEST(test_lengths__even_a_terabyte_goes_in_such_chunks)
{
    struct topo *t = shape(_i);
    size_t chunk[PLAN_CHUNKS + 1];

    for (int shift = 0; shift < 45; shift++)
        for (int c = 0; c < COLL_ALLTOALLV; c++) {
            struct plan_request q = REQUEST((enum plan_collective)c, t, (size_t)1 << shift, 0);

            for (int n = chunks_of(&q, chunk), i = 0; i < n; i++)
                must(chunk[i] > 0 && chunk[i] <= PLAN_MOST_CHUNK, "%s of 2^%d bytes: %zu",
                     plan_collective_name(q.collective), shift, chunk[i]);
        }
    topo_free(t);
}
END_TEST

START_TEST(test_lengths__a_longer_chunk_is_no_plan)
{
    static const uint64_t wrong[] = {0, PLAN_MOST_CHUNK + 1, UINT64_MAX};
    struct plan *p = NULL;

    for (int i = 0; i < 3; i++) {
        struct plan_builder *b = plan_build_begin(0, 2, wrong[i]);

        plan_send(b, 1, 0, PLAN_INPUT, 0, FOUR_GIB);
        ck_assert_int_eq(plan_build_finish(b, "test", FOUR_GIB, 0, 0, 0, &p), -EOVERFLOW);
    }
}
END_TEST

/* Helpers ------------------------------------------------------------------------------------- */

START_TEST(test_lengths__slices_are_all_of_a_call)
{
    static const enum plan_collective cut[] = {COLL_ALLREDUCE, COLL_ALLGATHER, COLL_BCAST};
    struct topo *t = shape(0);

    for (int i = 0; i < 3 * LENGTHS; i++) {
        struct plan_request q = REQUEST(cut[i / LENGTHS], t, lengths[i % LENGTHS], PLAN_MOST_CHUNK);
        uint64_t from, end = 0, stored = 0;
        q.rank = 1;
        for (int s = 0; s < 3; s++) {
            struct plan_request slice = slice_request(&q, 3, s, &from);
            struct slice_window w = slice_window(&q, &slice, from);

            ck_assert_uint_eq(from, end);
            ck_assert_uint_le(slice.chunk_bytes, PLAN_MOST_CHUNK);
            end += slice.nbytes;
            stored += w.store.n * w.store.length;
        }
        ck_assert_uint_eq(end, q.nbytes);
        ck_assert_uint_eq(stored, plan_output_bytes(&q, q.rank));
    }
    topo_free(t);
}
END_TEST

START_TEST(test_lengths__a_window_is_as_long_as_asked_and_a_payload_refuses)
{
    struct mailbox_map map = {0}, again = {0};
    struct mailbox *box;
    int fd = mailbox_create(&box);

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < LENGTHS; i++) {
        ck_assert_int_eq(mailbox_map_window(fd, 1, lengths[i], &map), 0);
        map.at[lengths[i] - 1] = (char)(1 + i);
    }
    ck_assert_int_eq(mailbox_map_window(fd, 1, lengths[LENGTHS - 1], &again), 0);
    for (int i = 0; i < LENGTHS; i++)
        ck_assert_int_eq(again.at[lengths[i] - 1], 1 + i);
    ck_assert_int_eq(mailbox_map_payload(fd, 1, FOUR_GIB, &again), -E2BIG);
    mailbox_unmap_part(&map);
    mailbox_unmap_part(&again);
    mailbox_unmap(box);
    close(fd);
}
END_TEST

/* MPI ----------------------------------------------------------------------------------------- */

static size_t noted;

static int note_send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    (void)buf, (void)type, (void)to, (void)tag, (void)comm, (void)request;
    noted += (size_t)n;
    return MPI_SUCCESS;
}

static int note_recv(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    return note_send(buf, n, type, from, tag, comm, request);
}

/* As behind `route`, which every communicator of several nodes has. */
START_TEST(test_lengths__mpi_gets_the_length_or_an_error)
{
    const struct mpi_p2p_calls calls = {.Isend = note_send, .Irecv = note_recv};
    struct xport p2p, near, x;
    char byte;

    ck_assert_int_eq(xport_mpi_p2p_open(&calls, MPI_COMM_SELF, 0, &p2p), 0);
    ck_assert_int_eq(xport_mpi_p2p_open(&calls, MPI_COMM_SELF, 0, &near), 0);
    ck_assert_int_eq(xport_route_open(&near, &p2p, (const unsigned char[]){0}, 1, &x), 0);
    ck_assert_int_eq(x.reserve(x.state, 2 * LENGTHS), 0);
    for (unsigned i = 0; i < LENGTHS; i++) {
        size_t carried = lengths[i] <= INT_MAX ? lengths[i] : 0;
        int code = carried ? MPI_SUCCESS : MPI_ERR_COUNT;

        noted = 0;
        ck_assert_int_eq(x.send(x.state, 2 * i, &byte, lengths[i], 0, 0), code);
        ck_assert_uint_eq(noted, carried);
        ck_assert_int_eq(x.recv(x.state, 2 * i + 1, &byte, lengths[i], 0, 0), code);
        ck_assert_uint_eq(noted, 2 * carried);
    }
    xport_route_close(&x);
    xport_mpi_p2p_close(&near);
    xport_mpi_p2p_close(&p2p);
}
END_TEST

/* Shared memory ------------------------------------------------------------------------------- */

enum { PAGE = 4096 };

/* A message that never is: its two addresses, and how often each page went from one to the other.
 */
static struct {
    char *from, *to;
    size_t length, moved;
    unsigned char *times; /* [pages] */
} faked;

/* The system moves at most so many bytes at once. */
static ssize_t fake_move(const char *from, const char *to, size_t n)
{
    const size_t at_once = INT_MAX / PAGE * PAGE;
    size_t at = (size_t)(from - faked.from);

    n = n < at_once ? n : at_once;
    must(at + n <= faked.length, "bytes from %zu on", at);
    must(!to || from - faked.from == to - faked.to, "bytes from %zu on to %zu", at,
         (size_t)(to - faked.to));
    for (size_t page = at / PAGE; page < (at + n + PAGE - 1) / PAGE; page++)
        faked.times[page]++;
    faked.moved += n;
    return (ssize_t)n;
}

static int is_faked(const char *p)
{
    return faked.times && (size_t)(p - faked.from) < faked.length;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long nown,
                         const struct iovec *theirs, unsigned long ntheirs, unsigned long flags)
{
    const char *to = own->iov_base;

    if (!is_faked(theirs->iov_base))
        return syscall(SYS_process_vm_readv, pid, own, nown, theirs, ntheirs, flags);
    if (own->iov_len == 1) /* does the sender live? */
        return 1;
    /* Bytes that are to be combined go by a small buffer. */
    return fake_move(theirs->iov_base,
                     faked.to && (size_t)(to - faked.to) < faked.length ? to : NULL, own->iov_len);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *own, unsigned long nown,
                          const struct iovec *theirs, unsigned long ntheirs, unsigned long flags)
{
    if (!is_faked(own->iov_base))
        return syscall(SYS_process_vm_writev, pid, own, nown, theirs, ntheirs, flags);
    return fake_move(own->iov_base, theirs->iov_base, own->iov_len);
}

static size_t combined;

static void count_combined(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    (void)context, (void)b;
    must(a == dst && (const char *)a == (const char *)faked.to + combined, "bytes of %zu",
         combined);
    combined += bytes;
}

/* Both ends of a communicator of two, in this process. */
static void open_pair(struct xport x[2], int copy_only)
{
    struct shm_offer offer[2];

    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_open(copy_only, &x[r], &offer[r]), 0);
    for (int r = 0; r < 2; r++) {
        offer[r].cpus = (struct shm_cpus){{1u << r}}; /* so that both copy */
        ck_assert_int_eq(xport_shm_place(&x[r], (const int[]){0, 1}, 2, r, 2), 0);
    }
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(xport_shm_join(&x[r], offer), 0);
        ck_assert_int_eq(x[r].reserve(x[r].state, 1), 0);
    }
    for (int r = 0; r < 2; r++)
        xport_shm_joined(&x[r]);
}

/* Bytes that are there, and are all one page of zeros; nothing may be written. */
static char *zeros(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    ck_assert_ptr_ne(p, MAP_FAILED);
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static void until_done(struct xport x[2])
{
    unsigned slot, n;

    for (int left = 2; left;)
        for (int r = 0; r < 2; r++) {
            ck_assert_int_eq(x[r].poll(x[r].state, &slot, &n), 0);
            ck_assert_uint_le(n, 1);
            ck_assert(!n || slot == 0);
            left -= (int)n;
        }
}

/* One message from rank 0 to rank 1. */
static void pass_one(struct xport x[2], size_t length, int combines)
{
    struct xport_reduce reduce;

    faked.length = length;
    faked.from = zeros(length);
    faked.to = zeros(length);
    faked.moved = combined = 0;
    faked.times = calloc(length / PAGE + 1, 1);
    reduce = (struct xport_reduce){
        .combine = count_combined, .grain = 8, .own = faked.to, .dst = faked.to, .length = length};
    ck_assert_int_eq(x[0].send(x[0].state, 0, faked.from, length, 1, 0), 0);
    if (combines)
        ck_assert_int_eq(x[1].recv_reduce(x[1].state, 0, &reduce, 0, 0), 0);
    else
        ck_assert_int_eq(x[1].recv(x[1].state, 0, faked.to, length, 0, 0), 0);
    until_done(x);
    if (combines)
        ck_assert_uint_eq(combined, length);
}

static void end_one(void)
{
    munmap(faked.from, faked.length);
    munmap(faked.to, faked.length);
    free(faked.times);
    faked.times = NULL;
}

static void want_all_moved_once(void)
{
    ck_assert_uint_eq(faked.moved, faked.length);
    for (size_t page = 0; page < (faked.length + PAGE - 1) / PAGE; page++)
        must(faked.times[page] == 1, "page %zu moved %d times", page, faked.times[page]);
}

START_TEST(test_lengths__what_a_peer_reads_and_the_sender_writes_is_all_of_it)
{
    struct xport x[2];

    open_pair(x, 0);
    for (int i = 0; i < LENGTHS; i++) {
        pass_one(x, lengths[i], 0);
        want_all_moved_once();
        end_one();
    }
    for (int r = 0; r < 2; r++)
        xport_shm_close(&x[r]);
}
END_TEST

START_TEST(test_lengths__what_a_peer_combines_is_all_of_it)
{
    struct xport x[2];

    open_pair(x, _i);
    for (int i = _i ? LENGTHS - 1 : 0; i < LENGTHS; i++)
        if (lengths[i] % 8 == 0) { /* whole elements */
            pass_one(x, lengths[i], 1);
            if (!_i)
                want_all_moved_once();
            end_one();
        }
    for (int r = 0; r < 2; r++)
        xport_shm_close(&x[r]);
}
END_TEST

Suite *suite_lengths(void)
{
    Suite *s = suite_create("lengths");
    TCase *t = tcase_create("lengths");

    tcase_add_loop_test(t, test_lengths__every_plan_keeps_messages_to_what_an_int_counts, 0,
                        SHAPES);
    tcase_add_loop_test(t, test_lengths__even_a_terabyte_goes_in_such_chunks, 0, SHAPES);
    tcase_add_test(t, test_lengths__a_longer_chunk_is_no_plan);
    tcase_add_test(t, test_lengths__slices_are_all_of_a_call);
    tcase_add_test(t, test_lengths__a_window_is_as_long_as_asked_and_a_payload_refuses);
    tcase_add_test(t, test_lengths__mpi_gets_the_length_or_an_error);
    tcase_add_test(t, test_lengths__what_a_peer_reads_and_the_sender_writes_is_all_of_it);
    tcase_add_loop_test(t, test_lengths__what_a_peer_combines_is_all_of_it, 0, 2); /* cells: 1 */
    suite_add_tcase(s, t);
    return s;
}
