/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/call/call.h"

/* NCCL's types and operations as the kernels have them, by number. */
static const enum reduce_type types[] = {
    [ncclInt8] = REDUCE_TYPE_i8,         [ncclUint8] = REDUCE_TYPE_u8,
    [ncclInt32] = REDUCE_TYPE_i32,       [ncclUint32] = REDUCE_TYPE_u32,
    [ncclInt64] = REDUCE_TYPE_i64,       [ncclUint64] = REDUCE_TYPE_u64,
    [ncclFloat16] = REDUCE_TYPE_f16,     [ncclFloat32] = REDUCE_TYPE_f32,
    [ncclFloat64] = REDUCE_TYPE_f64,     [ncclBfloat16] = REDUCE_TYPE_bf16,
    [ncclFloat8e4m3] = REDUCE_TYPE_e4m3, [ncclFloat8e5m2] = REDUCE_TYPE_e5m2,
};
enum { TYPES = sizeof types / sizeof types[0] };

static const enum reduce_op ops[] = {
    [ncclSum] = REDUCE_OP_sum, [ncclProd] = REDUCE_OP_prod, [ncclMax] = REDUCE_OP_max,
    [ncclMin] = REDUCE_OP_min, [ncclAvg] = REDUCE_OP_sum,
};
enum { OPS = sizeof ops / sizeof ops[0] };

int nccl_call_is_understood(const struct nccl_call *call)
{
    if ((unsigned)call->type >= TYPES)
        return 0;
    if (!call->combines || (unsigned)call->op < OPS)
        return 1;
    return call->redop && call->redop->type == call->type;
}

size_t nccl_call_type_bytes(ncclDataType_t type)
{
    return (unsigned)type < TYPES ? reduce_type_bytes(types[type]) : 0;
}

enum reduce_type nccl_call_reduce_type(const struct nccl_call *call)
{
    return types[call->type];
}

enum reduce_op nccl_call_reduce_op(const struct nccl_call *call)
{
    return call->redop ? REDUCE_OP_sum : ops[call->op];
}

static int is_float(const struct nccl_call *call)
{
    return call->type >= ncclFloat16;
}

int nccl_call_combines_fp8(const struct nccl_call *call)
{
    return call->combines && (call->type == ncclFloat8e4m3 || call->type == ncclFloat8e5m2);
}

int nccl_call_scales(const struct nccl_call *call, enum call_time when)
{
    if (!call->combines)
        return 0;
    if (call->redop)
        return when == CALL_BEFORE;
    return call->op == ncclAvg && is_float(call) == (when == CALL_BEFORE);
}

enum reduce_op nccl_call_scale_op(const struct nccl_call *call, int nranks,
                                  struct cuda_reduce_args *args)
{
    if (!call->redop) {
        args->divisor = (uint32_t)nranks;
        return REDUCE_OP_divide;
    }
    args->factor = call->redop->factor;
    args->factor_at = call->redop->factor_at;
    return REDUCE_OP_scale;
}

int nccl_call_rounds_results(const struct nccl_call *call)
{
    return is_float(call) &&
           (call->redop || call->op == ncclSum || call->op == ncclProd || call->op == ncclAvg);
}

size_t nccl_call_block_bytes(const struct nccl_call *call)
{
    return call->count * nccl_call_type_bytes(call->type);
}

uint64_t nccl_call_total_bytes(const struct nccl_call *call, int nranks)
{
    return (uint64_t)nccl_call_block_bytes(call) *
           (plan_is_vector(call->collective) ? 1 : (uint64_t)nranks);
}

int nccl_call_has_buffers(const struct nccl_call *call, int rank)
{
    int at_root = rank == call->root;

    if (call->kind != CALL_COLLECTIVE)
        return call->kind == CALL_SEND ? call->send != NULL : call->recv != NULL;
    if (call->collective == COLL_REDUCE)
        return call->send && (call->recv || !at_root);
    if (call->collective == COLL_BCAST)
        return call->recv && (call->send || !at_root);
    return call->send && call->recv;
}
