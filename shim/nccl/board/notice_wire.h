/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between a rank (notice.c) and the keeper of a notice board. */
#ifndef COLLSHIM_SHIM_NCCL_NOTICE_WIRE_H
#define COLLSHIM_SHIM_NCCL_NOTICE_WIRE_H

#include <netinet/in.h>
#include <stdint.h>

enum { NOTICE_MARK = 0x636f6c6c };

/* NCCL's unique id: a random number, the address of its start-up socket, zeros. */
struct notice_id {
    uint64_t token;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    char unused[128 - 8 - sizeof(struct sockaddr_in6) - 12 - 8];
    uint64_t kept; /* zeros: left alone */
    uint32_t mark;
    uint16_t port, reserved;
};

/* A rank says this, and its note behind it. The answer: a uint32_t, 0 for no; 1, and all notes. */
struct notice_post {
    uint32_t mark, nranks, rank, bytes;
    uint32_t listens, reserved; /* 1: to an alarm of that key, and there is no note */
    uint64_t token, key;
};

#endif
