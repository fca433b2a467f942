/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/sets.h"

#include <stdlib.h>
#include <string.h>

#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/registered.h"

/* A rank's note about one other: bytes for it, and its view of both directions. */
struct pair {
    uint64_t bytes, out, in;
};
_Static_assert(SET_RANKS_MOST * sizeof(struct pair) <= NOTICE_MOST, "a note must fit");

/* In a rank's line for itself: it has registered a buffer, or used a stream of another context. No
 * message is as long. */
#define SAYS_REGISTERED ((uint64_t)1 << 63)
#define SAYS_ELSEWHERE ((uint64_t)1 << 62)

enum { ABOUT_SETS = 1 << 30, DULL_MOST = 6 };

static int is_sent(const struct nccl_call *call)
{
    return call->kind == CALL_SEND;
}

void nccl_set_note_message(struct nccl_comm *c, const struct nccl_call *call)
{
    if (call->root >= 0 && call->root < c->nranks)
        (is_sent(call) ? c->traffic.sent : c->traffic.received)[call->root]++;
}

/* How many messages of a direction there are for each rank; -1: several for one. */
static int count_peers(const struct nccl_comm *c, const struct nccl_call *call, int n, int sent)
{
    char seen[COMM_RANKS_MOST] = {0};
    int peers = 0;

    for (int i = 0; i < n; i++) {
        if (is_sent(&call[i]) != sent)
            continue;
        if (seen[call[i].root]++)
            return -1;
        peers += call[i].root != c->rank;
    }
    return peers;
}

static uint64_t own_bytes(const struct nccl_call *call, int n)
{
    uint64_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += nccl_call_block_bytes(&call[i]);
    return bytes;
}

int nccl_set_is_candidate(const struct nccl_comm *c, const struct nccl_call *call, int n)
{
    int sends, receives;

    if (c->sets.given_up || (c->notes.fd < 0 && c->verdict) ||
        settings.choice[COLL_ALLTOALLV].native)
        return 0;
    for (int i = 0; i < n; i++)
        if (call[i].kind == CALL_COLLECTIVE)
            return 0;
    if (own_bytes(call, n) < settings.cfg.min_bytes)
        return 0;
    sends = count_peers(c, call, n, 1);
    receives = count_peers(c, call, n, 0);
    if (c->sets.met)
        return sends >= 0 && receives >= 0;
    return sends == c->nranks - 1 && receives == c->nranks - 1;
}

/* Asking -------------------------------------------------------------------------------------- */

static uint64_t digest(uint64_t messages, uint64_t bytes, int is_there)
{
    uint64_t x = messages * 0x9e3779b97f4a7c15u ^ (bytes * 2 + (uint64_t)is_there);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* pair: [nranks] */
static void set_describe(const struct nccl_comm *c, const struct nccl_call *call, int n,
                         struct pair *pair)
{
    uint64_t in[SET_RANKS_MOST] = {0};
    char sends[SET_RANKS_MOST] = {0}, receives[SET_RANKS_MOST] = {0};

    memset(pair, 0, (size_t)c->nranks * sizeof *pair);
    for (int i = 0; i < n; i++) {
        int peer = call[i].root;

        if (is_sent(&call[i]))
            pair[peer].bytes = nccl_call_block_bytes(&call[i]);
        else
            in[peer] = nccl_call_block_bytes(&call[i]);
        *(is_sent(&call[i]) ? &sends[peer] : &receives[peer]) = 1;
    }
    for (int p = 0; p < c->nranks; p++) {
        pair[p].out = digest(c->traffic.sent[p], pair[p].bytes, sends[p]);
        pair[p].in = digest(c->traffic.received[p], in[p], receives[p]);
    }
}

/* Do all pairs see the same? all: [nranks][nranks]. */
static int is_closed(const struct pair *all, int nranks)
{
    for (int from = 0; from < nranks; from++)
        for (int to = 0; to < nranks; to++)
            if (all[from * nranks + to].out != all[to * nranks + from].in)
                return 0;
    return 1;
}

/* The parts of input and output, one rank's after the other's. */
static void place(struct nccl_set *set, const struct nccl_comm *c, const struct nccl_call *call,
                  int n)
{
    size_t ranks = (size_t)c->nranks, rank = (size_t)c->rank;

    for (size_t p = 0; p < ranks; p++) {
        set->offset[0][p + 1] = set->offset[0][p] + set->demand[rank * ranks + p];
        set->offset[1][p + 1] = set->offset[1][p] + set->demand[p * ranks + rank];
    }
    for (int i = 0; i < n; i++)
        if (is_sent(&call[i]))
            set->at[0][call[i].root] = (char *)(uintptr_t)call[i].send;
        else
            set->at[1][call[i].root] = call[i].recv;
    set->in = (struct nccl_pieces){c->nranks, set->offset[0], set->at[0]};
    set->out = (struct nccl_pieces){c->nranks, set->offset[1], set->at[1]};
}

enum reason nccl_set_agree(struct nccl_comm *c, const struct nccl_call *call, int n,
                           struct nccl_set *set)
{
    struct pair mine[SET_RANKS_MOST], *all;
    size_t ranks = (size_t)c->nranks;
    enum reason why;
    uint64_t said = 0;
    void *notes;

    if (c->sets.pause) {
        c->sets.pause--;
        return REASON_DULL;
    }
    set_describe(c, call, n, mine);
    if (registered_hold(c))
        mine[c->rank].bytes |= SAYS_REGISTERED;
    if (c->device.met_elsewhere)
        mine[c->rank].bytes |= SAYS_ELSEWHERE;
    /* without memory this rank posts nothing, and no rank gets a yes */
    if (!nccl_set_open(set, c->nranks) || nccl_comm_exchange(c, ABOUT_SETS + ++c->sets.asked, mine,
                                                             ranks * sizeof *mine, &notes) < 0) {
        c->sets.given_up = 1;
        nccl_set_close(set);
        return REASON_NO_SET;
    }
    all = notes;
    for (size_t i = 0; i < ranks * ranks; i++) {
        set->demand[i] = all[i].bytes & ~(SAYS_REGISTERED | SAYS_ELSEWHERE);
        said |= all[i].bytes ^ set->demand[i];
    }
    why = !is_closed(all, c->nranks) ? REASON_NO_SET
          : said & SAYS_REGISTERED   ? REASON_REGISTERED
          : said & SAYS_ELSEWHERE    ? REASON_STREAM
                                     : REASON_NONE;
    free(notes);
    if (why) {
        c->sets.given_up = 1;
        nccl_set_close(set);
        return why;
    }
    c->sets.met = 1;
    place(set, c, call, n);
    return REASON_NONE;
}

void nccl_set_learn(struct nccl_comm *c, int gained)
{
    if (gained) {
        c->sets.dull = 0;
        return;
    }
    c->sets.dull += c->sets.dull < DULL_MOST;
    c->sets.pause = settings.cfg.min_bytes ? (1u << c->sets.dull) - 1 : 0;
}
