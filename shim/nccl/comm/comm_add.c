/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/comm_add.h"

#include "config/base/hash.h"
#include "shim/nccl/comm/notes.h"

void nccl_comm_add_by_id(struct nccl_copy *copy, ncclComm_t handle, const ncclUniqueId *id,
                         int channels)
{
    struct nccl_comm *c = nccl_comm_make(copy, handle, hash_bytes(HASH_SEED, id, sizeof *id));

    if (!c)
        return;
    c->channels = channels;
    if (notice_find(id, &c->notes.board) < 0)
        c->verdict = REASON_NOT_EVERYWHERE;
    else
        nccl_comm_post_note(c);
}

void nccl_comm_add_child(struct nccl_copy *copy, ncclComm_t handle, ncclComm_t parent, uint64_t nth,
                         int by, int channels)
{
    struct nccl_comm *from = nccl_comm_find(parent);
    uint64_t key =
        from ? nccl_comm_mix(nccl_comm_mix(from->notes.key, nth), (uint64_t)(int64_t)by) : 0;
    struct nccl_comm *c = nccl_comm_make(copy, handle, key);

    if (c && from && from->notes.board.length) {
        c->notes.board = from->notes.board;
        c->channels = channels ? channels : from->channels;
        nccl_comm_post_note(c);
    } else if (c) {
        c->verdict = from && from->verdict ? from->verdict : REASON_UNKNOWN;
    }
    if (from)
        nccl_comm_release(from);
}

void nccl_comm_add_native(struct nccl_copy *copy, ncclComm_t handle, enum reason why)
{
    struct nccl_comm *c = nccl_comm_make(copy, handle, 0);

    if (c)
        c->verdict = why;
}
