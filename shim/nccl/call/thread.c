/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/call/thread.h"

__thread struct thread this_thread;
