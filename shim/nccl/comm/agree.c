/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/agree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int nccl_comm_exchange(struct nccl_comm *c, uint64_t about, const void *note, size_t bytes,
                       void **all)
{
    *all = malloc((size_t)c->nranks * bytes);
    if (*all && notice_read(notice_post(&c->notes.board, nccl_comm_mix(c->notes.key, about),
                                        c->nranks, c->rank, note, bytes),
                            c->nranks, *all, bytes, &c->stopped) == 0)
        return 0;
    free(*all);
    return -1; /* without memory this rank posted nothing, and no rank gets notes */
}

static int exchange_notes(struct nccl_comm *c, const void *note, void **all)
{
    return nccl_comm_exchange(c, ++c->notes.asked, note, NOTICE_BYTES, all);
}

int nccl_comm_all_same(struct nccl_comm *c, int yes, uint64_t what)
{
    struct answer {
        uint64_t what;
        int yes;
    } theirs;
    char note[NOTICE_BYTES] = {0};
    void *all;

    memcpy(note, &(struct answer){what, yes}, sizeof theirs);
    if (exchange_notes(c, note, &all) < 0)
        return 0;
    for (int r = 0; r < c->nranks; r++) {
        memcpy(&theirs, (char *)all + (size_t)r * NOTICE_BYTES, sizeof theirs);
        yes = yes && theirs.yes && theirs.what == what;
    }
    free(all);
    return yes;
}

int nccl_comm_all(struct nccl_comm *c, int yes)
{
    return nccl_comm_all_same(c, yes, 0);
}

int nccl_comm_largest(struct nccl_comm *c, double *value, int n)
{
    char note[NOTICE_BYTES] = {0};
    void *all;

    memcpy(note, value, (size_t)n * sizeof *value);
    if (exchange_notes(c, note, &all) < 0)
        return -1;
    for (int r = 0; r < c->nranks; r++)
        for (int i = 0; i < n; i++) {
            double theirs;

            memcpy(&theirs, (char *)all + (size_t)r * NOTICE_BYTES + (size_t)i * sizeof theirs,
                   sizeof theirs);
            value[i] = fmax(value[i], theirs);
        }
    free(all);
    return 0;
}

int nccl_comm_tell(struct nccl_comm *c, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += NOTICE_BYTES) {
        size_t n = bytes - done < NOTICE_BYTES ? bytes - done : NOTICE_BYTES;
        char note[NOTICE_BYTES] = {0};
        void *all;

        memcpy(note, (char *)data + done, n);
        if (exchange_notes(c, note, &all) < 0)
            return -1;
        memcpy((char *)data + done, all, n);
        free(all);
    }
    return 0;
}

uint64_t nccl_comm_key(const struct nccl_comm *c, uint64_t purpose)
{
    return nccl_comm_mix(~c->notes.key, purpose);
}
