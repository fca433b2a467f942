/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters and arguments of functions whose arguments are passed on as words (stubs.c). */
#ifndef COLLSHIM_SHIM_PRELOAD_WORDS_H
#define COLLSHIM_SHIM_PRELOAD_WORDS_H

#include <stdint.h>

#define PARAMS_0 void
#define PARAMS_1 uintptr_t a1
#define PARAMS_2 PARAMS_1, uintptr_t a2
#define PARAMS_3 PARAMS_2, uintptr_t a3
#define PARAMS_4 PARAMS_3, uintptr_t a4
#define PARAMS_5 PARAMS_4, uintptr_t a5
#define PARAMS_6 PARAMS_5, uintptr_t a6
#define PARAMS_7 PARAMS_6, uintptr_t a7
#define PARAMS_8 PARAMS_7, uintptr_t a8
#define PARAMS_9 PARAMS_8, uintptr_t a9
#define PARAMS_10 PARAMS_9, uintptr_t a10
#define PARAMS_11 PARAMS_10, uintptr_t a11

#define ARGS_0
#define ARGS_1 a1
#define ARGS_2 ARGS_1, a2
#define ARGS_3 ARGS_2, a3
#define ARGS_4 ARGS_3, a4
#define ARGS_5 ARGS_4, a5
#define ARGS_6 ARGS_5, a6
#define ARGS_7 ARGS_6, a7
#define ARGS_8 ARGS_7, a8
#define ARGS_9 ARGS_8, a9
#define ARGS_10 ARGS_9, a10
#define ARGS_11 ARGS_10, a11

#endif
