/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_DECIDE_REASONS_H
#define COLLSHIM_SHIM_DECIDE_REASONS_H

enum reason {
#define REASON(id, text, meaning) REASON_##id,
#include "shim/decide/base/reasons.def"
#undef REASON
    REASON_COUNT
};

/* For the log and the report. */
extern const char *const reason_texts[REASON_COUNT];

#endif
