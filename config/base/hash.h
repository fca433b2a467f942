/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a. Texts are told apart also where they follow each other: each ends with a byte of its own.
 */
#ifndef COLLSHIM_CONFIG_HASH_H
#define COLLSHIM_CONFIG_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): it takes an integer's second byte for unset */
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
    return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    while (*text)
        hash = hash_bytes(hash, text++, 1);
    return (hash ^ 0xff) * 0x100000001b3ull;
}

#endif
