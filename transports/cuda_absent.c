/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of all cuda_*.c where the build found no CUDA headers. */
#include "transports/cuda_describe.h"

#include <stdio.h>

int cuda_describe(char *text, size_t size)
{
    snprintf(text, size, "built without CUDA: only data in host memory is rerouted");
    return 0;
}
