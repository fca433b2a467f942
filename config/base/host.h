/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_CONFIG_HOST_H
#define COLLSHIM_CONFIG_HOST_H

#include <stdint.h>

/*
 * Equal on two processes if they run on one host. A key of its name and the id of its last boot,
 * since a name alone may be `localhost` everywhere. Containers of one host share both.
 */
uint64_t host_key(void);

#endif
