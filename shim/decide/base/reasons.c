/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/base/reasons.h"

const char *const reason_texts[REASON_COUNT] = {
#define REASON(id, text, meaning) text,
#include "shim/decide/base/reasons.def"
#undef REASON
};
