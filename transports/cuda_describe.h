/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this build and this machine have of CUDA, for `collshim info`. In every build: without the
 * CUDA headers cuda_absent.c answers. May load the driver and start it: not for an application's
 * process.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_DESCRIBE_H
#define COLLSHIM_TRANSPORTS_CUDA_DESCRIBE_H

#include <stddef.h>

/* One or more lines without a last newline, cut at size. Returns the number of usable devices. */
int cuda_describe(char *text, size_t size);

#endif
