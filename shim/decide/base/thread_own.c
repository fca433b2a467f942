/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/base/thread_own.h"

ptrdiff_t thread_own_at;
struct thread_own thread_own_shared;
