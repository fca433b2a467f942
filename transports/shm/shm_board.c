/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While a notice is open its owner counts as a reader, or the place could be free, and taken again,
 * between two readers.
 */
#include "transports/shm/shm_board.h"

#include <string.h>

void board_open(struct board *b, const struct shm_segment *segment, int me)
{
    *b = (struct board){.segment = segment, .me = me};
    for (int i = 0; i < SHM_NOTICES; i++)
        b->at[i] = shm_segment_notice(segment, me, (uint32_t)i);
}

static int is_open(const struct board *b, int i)
{
    return (b->open >> i & 1u) != 0;
}

static int find(const struct board *b, const void *source, size_t length)
{
    for (int i = 0; b->open && i < SHM_NOTICES; i++)
        if (is_open(b, i) && b->source[i] == source && b->length[i] == length)
            return i;
    return -1;
}

static int find_free(const struct board *b)
{
    for (int i = 0; i < SHM_NOTICES; i++)
        if (!atomic_load_explicit(&b->at[i]->readers, memory_order_acquire))
            return i;
    return -1;
}

int board_put(struct board *b, const void *source, size_t length)
{
    int i = find(b, source, length);

    if (i < 0 && (i = find_free(b)) >= 0) {
        memcpy(shm_segment_notice_bytes(b->segment, b->me, (uint32_t)i), source, length);
        b->source[i] = source;
        b->length[i] = length;
        b->open |= 1u << i;
        atomic_store_explicit(&b->at[i]->readers, 1, memory_order_relaxed);
    }
    if (i >= 0)
        atomic_fetch_add_explicit(&b->at[i]->readers, 1, memory_order_relaxed);
    return i;
}

void board_close(struct board *b)
{
    for (int i = 0; b->open; i++)
        if (is_open(b, i)) {
            board_read(b->at[i]);
            b->open &= ~(1u << i);
        }
}

void board_read(struct shm_notice *n)
{
    atomic_fetch_sub_explicit(&n->readers, 1, memory_order_release);
}
