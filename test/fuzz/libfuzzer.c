/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer's entry points, for the target that FUZZ_TARGET names. */
#include <stdio.h>
#include <stdlib.h>

#include "test/fuzz/fuzz.h"

__attribute__((visibility("default"))) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    target = fuzz_find(getenv("FUZZ_TARGET"));
    if (!target) {
        fputs("FUZZ_TARGET: no such target; test/fuzz/targets.def lists them\n", stderr);
        exit(2);
    }
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}
