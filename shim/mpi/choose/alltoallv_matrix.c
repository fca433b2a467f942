/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before a communicator has any state of ours, only its exchange state is kept. That state is the
 * value of an attribute itself, as in sizes.c.
 */
#include "shim/mpi/choose/alltoallv_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/nimble/nimble.h"
#include "shim/decide/choose/gate.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/foreign.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/choose/gate.h"
#include "shim/record/counts/count.h"

enum { MOST_RANKS = 1024 }; /* the matrix of more would take long to plan, and 8 bytes per pair */
enum { ROWS_WORTH = 16 };   /* a rank's bytes must be that many times its row */

_Static_assert(sizeof(struct exchange_state) <= sizeof(uintptr_t),
               "the state is an attribute's value");

/* A communicator may be used for either, in its own rhythm. */
enum kind { EXCHANGE, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, KINDS };
static int keyval[KINDS] = {MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};

static enum kind kind_of(enum plan_collective c)
{
    return c == COLL_NEIGHBOR_ALLGATHER  ? NEIGHBOR_ALLGATHER
           : c == COLL_NEIGHBOR_ALLTOALL ? NEIGHBOR_ALLTOALL
                                         : EXCHANGE;
}

int matrix_open(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < KINDS && rc == MPI_SUCCESS; i++)
        rc = mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval[i],
                                    NULL);
    return rc;
}

void matrix_close(void)
{
    for (int i = 0; i < KINDS; i++)
        if (keyval[i] != MPI_KEYVAL_INVALID)
            mpi.Comm_free_keyval(&keyval[i]);
}

static void matrix_free(struct alltoallv_matrix *rows)
{
    if (!rows)
        return;
    free(rows->sends);
    free(rows->receives);
    free(rows->matrix);
    free(rows);
}

void matrix_drop(struct mpi_comm *c)
{
    matrix_free(c->matrix);
}

static struct exchange_state state_get(MPI_Comm comm, int key)
{
    uintptr_t number = attribute_number(comm, key);
    struct exchange_state w;

    memcpy(&w, &number, sizeof w);
    return w;
}

static int state_set(MPI_Comm comm, int key, struct exchange_state w)
{
    uintptr_t number = 0;

    memcpy(&number, &w, sizeof w);
    return attribute_keep_number(comm, key, number);
}

static int remember(const struct matrix_call *r)
{
    return state_set(r->comm, keyval[kind_of(r->collective)], r->state);
}

void matrix_forget(MPI_Comm comm)
{
    for (int i = 0; i < KINDS; i++) {
        struct exchange_state w = state_get(comm, keyval[i]);

        if (!w.active)
            state_set(comm, keyval[i], (struct exchange_state){.seen = w.seen});
    }
}

enum reason matrix_begin_once(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c)
{
    *r = (struct matrix_call){.comm = comm,
                              .n = n,
                              .collective = c,
                              .always = gate_always(c),
                              .once = 1,
                              .action = EXCHANGE_TELL};
    return n > MOST_RANKS ? REASON_SHAPE : REASON_NONE;
}

int matrix_balances(MPI_Comm comm, enum plan_collective c)
{
    return state_get(comm, keyval[kind_of(c)]).active;
}

enum reason matrix_begin_known(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c)
{
    enum reason why = matrix_begin_once(r, comm, n, c);

    return why || r->always || matrix_balances(comm, c) ? why : REASON_UNJUDGED;
}

enum reason matrix_begin(struct matrix_call *r, MPI_Comm comm, int n, enum plan_collective c)
{
    enum reason why = matrix_begin_once(r, comm, n, c);

    if (!why)
        why = foreign_reason(comm, n);
    if (why || r->always)
        return why;
    r->once = 0;
    r->state = state_get(comm, keyval[kind_of(c)]);
    r->was_active = (int)r->state.active;
    if (!r->state.seen) {
        r->state.seen = 1;
        r->lost = !remember(r);
    }
    r->action = exchange_next(&r->state);
    if (r->action != EXCHANGE_PASS)
        return REASON_NONE;
    remember(r);
    return REASON_SIZES;
}

/* Calls that passed behind a large one are taken to be like it. */
uint32_t matrix_passed(const struct matrix_call *r)
{
    return r->state.unpaid ? exchange_passed(&r->state) : 0;
}

/* The size of a call is what one rank sends on average, as with Alltoall. */
static uint64_t share_of(uint64_t sum, int n)
{
    return sum / (unsigned)n + (sum % (unsigned)n != 0);
}

enum reason matrix_total(const uint64_t *matrix, int n, uint64_t *total)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
        if (matrix[i] > MOST_BYTES - sum)
            return REASON_ARGUMENTS;
        sum += matrix[i];
    }
    *total = share_of(sum, n);
    return gate_size(*total);
}

enum reason matrix_gate(const struct matrix_call *r, uint64_t total)
{
    uint64_t row = (uint64_t)(r->n + MATRIX_EXTRA) * sizeof(uint64_t);
    enum reason why = gate_size(total);

    return !why && !r->always && total < ROWS_WORTH * row ? REASON_SIZES : why;
}

enum reason matrix_ask(const struct matrix_call *r, enum reason own, uint64_t sent,
                       uint64_t received, uint64_t *total)
{
    uint64_t most = MOST_BYTES / (unsigned)r->n;
    const int64_t twice = (int64_t)1 << 32; /* more than there are ranks with other reasons */
    int wrong = (own && own != REASON_TWICE) || r->lost || sent > most || received > most;
    int64_t mine[3] = {wrong ? 1 : own ? twice : 0};
    int64_t all[3] = {1};
    struct quiet quiet;

    if (!mine[0]) {
        mine[1] = (int64_t)sent;
        mine[2] = (int64_t)received;
    }
    count_exchange(COUNT_QUESTIONS, 1);
    quiet_begin(&quiet, r->comm);
    int rc = mpi.Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, r->comm);
    quiet_end(&quiet);
    if (rc != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    if (all[0] || all[1] != all[2])
        return all[0] >= twice && all[0] % twice == 0 ? REASON_TWICE : REASON_ARGUMENTS;
    *total = share_of((uint64_t)all[2], r->n);
    return matrix_gate(r, *total);
}

static struct alltoallv_matrix *matrix_make(size_t n)
{
    struct alltoallv_matrix *rows = calloc(1, sizeof *rows);

    if (!rows)
        return NULL;
    rows->sends = malloc((n + MATRIX_EXTRA) * sizeof *rows->sends);
    rows->receives = malloc((n + 1) * sizeof *rows->receives);
    rows->matrix = malloc(n * (n + MATRIX_EXTRA) * sizeof *rows->matrix);
    if (rows->sends && rows->receives && rows->matrix)
        return rows;
    matrix_free(rows);
    return NULL;
}

struct alltoallv_matrix *matrix_of(struct mpi_comm *c, enum reason *why)
{
    int well, all = 0;

    if (!c->matrix) {
        struct alltoallv_matrix *rows = matrix_make((size_t)c->size);

        well = rows != NULL;
        if (mpi.Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, c->private_comm) == MPI_SUCCESS && all)
            c->matrix = rows;
        else
            matrix_free(rows);
    }
    *why = c->matrix ? REASON_NONE : REASON_MEMORY;
    return c->matrix;
}

/* Spread evenly, so that sums which are equal by chance are as good as impossible. */
static uint64_t weight(int from, int to)
{
    uint64_t h = ((uint64_t)from << 32 | (uint64_t)to) + 0x9e3779b97f4a7c15ull;

    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

/* The verdict of all, from all rows as they arrived. */
static enum reason verdict_of(const uint64_t *all, int n, uint64_t *total)
{
    uint64_t sent = 0, expected = 0, why = REASON_NONE;

    *total = 0;
    for (int from = 0; from < n; from++) {
        const uint64_t *row = all + (size_t)from * (size_t)(n + MATRIX_EXTRA);

        why = row[n] > why ? row[n] : why;
        expected += row[n + 1];
        for (int to = 0; to < n && !row[n]; to++) {
            sent += weight(from, to) * row[to];
            if (row[to] > MOST_BYTES - *total)
                return REASON_ARGUMENTS;
            *total += row[to];
        }
    }
    return why ? (enum reason)why : sent != expected ? REASON_ARGUMENTS : REASON_NONE;
}

void matrix_claim(const struct alltoallv_matrix *rows, int n, int rank, enum reason own)
{
    rows->sends[n] = own;
    rows->sends[n + 1] = 0;
    for (int from = 0; from < n && !own; from++)
        rows->sends[n + 1] += weight(from, rank) * rows->receives[from];
    count_exchange(COUNT_ROWS, 1);
}

enum reason matrix_verdict(struct alltoallv_matrix *rows, int n, uint64_t *total)
{
    int each = n + MATRIX_EXTRA;
    enum reason why = verdict_of(rows->matrix, n, total);

    *total = share_of(*total, n);
    for (int from = 1; from < n; from++)
        memmove(rows->matrix + (size_t)from * (size_t)n, rows->matrix + (size_t)from * (size_t)each,
                (size_t)n * sizeof *rows->matrix);
    return why;
}

int matrix_exchange(struct mpi_comm *c, enum reason own, uint64_t *total, enum reason *why)
{
    struct alltoallv_matrix *rows = c->matrix;
    int n = c->size, each = n + MATRIX_EXTRA;

    matrix_claim(rows, n, c->rank, own);
    double start = count_now(), seconds;
    int rc = mpi.Allgather(rows->sends, each, MPI_UINT64_T, rows->matrix, each, MPI_UINT64_T,
                           c->private_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    seconds = count_now() - start;
    if (rows->seconds <= 0 || seconds < rows->seconds)
        rows->seconds = seconds;
    *why = matrix_verdict(rows, n, total);
    return rc;
}

/* Rank 0 tells all: memory may be short on one rank, and one answer is needed. */
static enum reason predict(struct matrix_call *r, struct mpi_comm *c, struct plan_request *q)
{
    double congestion[2]; /* direct, balanced */
    size_t chunk[PLAN_CHUNKS];

    count_exchange(COUNT_PREDICTIONS, 1);
    q->topo = c->topo;
    plan_chunks(q, chunk);
    q->chunk_bytes = chunk[0];
    if (c->rank == 0 && nimble_predict(q, &congestion[0], &congestion[1]) < 0)
        congestion[0] = congestion[1] = 0;
    if (mpi.Bcast(congestion, 2, MPI_DOUBLE, 0, c->private_comm) != MPI_SUCCESS)
        return REASON_BALANCED;
    return exchange_predicted(&r->state, congestion[0], congestion[1]) ? REASON_NONE
                                                                       : REASON_BALANCED;
}

enum reason matrix_judge(struct matrix_call *r, struct mpi_comm *c, struct plan_request *q)
{
    return r->always || !exchange_wants_prediction(&r->state) ? REASON_NONE : predict(r, c, q);
}

void matrix_end(struct matrix_call *r, enum reason native)
{
    if (r->always || r->once)
        return;
    if (native == REASON_SLOWER)
        exchange_was_slower(&r->state);
    else if (native && native != REASON_BALANCED) /* it knows of that */
        exchange_was_vain(&r->state);
    r->state.unpaid = native == REASON_UNPAID;
    if ((int)r->state.active != r->was_active)
        count_exchange(COUNT_CHANGES, 1);
    remember(r);
}
