/* SPDX-License-Identifier: BSD-3-Clause */
/* Also part of the command. */
#include "shim/record/roll/roll_layout.h"

const char *const roll_names[ROLL_WHATS] = {
#define FORMS(Name, name, parameters, arguments) #Name,
#include "shim/preload/collectives.def"
#define WHAT(name) #name,
    ROLL_OTHERS(WHAT)
#undef WHAT
};
