/* SPDX-License-Identifier: BSD-3-Clause */
/* Hydra's proxy answers anything. */
#include "shim/mpi/entry/launcher_hydra.c"
#include "test/fuzz/fuzz.h"

int launcher_is_passed_by(void)
{
    return 0;
}

void fuzz_hydra(const uint8_t *data, size_t size)
{
    char answer[LINE];
    int pair[2], most = 64;

    FUZZ_MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    fd = pair[0];
    send(pair[1], data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(pair[1], SHUT_WR);
    if (ask("cmd=get_my_kvsname\n", answer) && word(answer, "kvsname=", store, sizeof store))
        while (most-- && find(most) != PEER_ABSENT)
            FUZZ_MUST(strnlen(store, sizeof store) < sizeof store);
    close(pair[0]);
    close(pair[1]);
    fd = -1;
}
