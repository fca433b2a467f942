/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders and plans that a helper takes from its owner. Both are of one user and one build, but
   bounds are checked all the same. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planners/plan/flat.h"
#include "shim/helper/mailbox.h"
#include "test/fuzz/fuzz.h"

static int lies_in(const void *part, size_t n, size_t each, const char *whole, size_t bytes)
{
    const char *at = part;

    return at >= whole && at <= whole + bytes && n <= (size_t)(whole + bytes - at) / each;
}

static void open_flat(const void *from, size_t bytes)
{
    struct plan p;

    if (plan_flat_open(from, bytes, &p))
        return;
    FUZZ_MUST(lies_in(p.ops, p.nops, sizeof *p.ops, from, bytes));
    FUZZ_MUST(lies_in(p.queues, p.nqueues, sizeof *p.queues, from, bytes));
    FUZZ_MUST(lies_in(p.deps, p.ndeps, sizeof *p.deps, from, bytes));
}

/* Half of the inputs are of a length that fits. */
void fuzz_flat(const uint8_t *data, size_t size)
{
    struct plan p;
    size_t bytes = size;

    if (size < sizeof p)
        return;
    memcpy(&p, data, sizeof p);
    if (size & 1 && p.nops < 64 && p.nqueues < 64 && p.ndeps < 64)
        bytes = plan_flat_bytes(&p);
    char *from = aligned_alloc(PLAN_FLAT_ALIGN, (bytes + 2 * PLAN_FLAT_ALIGN - 1) /
                                                    PLAN_FLAT_ALIGN * PLAN_FLAT_ALIGN);
    FUZZ_MUST(from);
    memset(from, 0, bytes);
    memcpy(from, data, bytes < size ? bytes : size);
    open_flat(from, bytes);
    free(from);
}

/* The bytes lie over the mailbox's head, from a place that the first two tell. */
void fuzz_mailbox(const uint8_t *data, size_t size)
{
    struct mailbox *box = NULL, *joined = NULL;
    struct mailbox_map payload = {0};

    if (size < 2)
        return;
    int fd = mailbox_create(&box);
    FUZZ_MUST(fd >= 0);
    size_t at = (data[0] | (size_t)data[1] << 8) % (sizeof *box - size);
    FUZZ_MUST(pwrite(fd, data + 2, size - 2, (off_t)at) == (ssize_t)size - 2);
    if (!mailbox_join(fd, &joined)) {
        const struct mailbox_order *o = &joined->channel[0].order;
        uint64_t end;

        if (!__builtin_add_overflow(o->plan_at, o->plan_bytes, &end) &&
            !mailbox_map_payload(fd, 0, end, &payload) && payload.at)
            open_flat(payload.at + o->plan_at, o->plan_bytes);
        mailbox_unmap_part(&payload);
        mailbox_unmap(joined);
    }
    mailbox_unmap(box);
    close(fd);
}
