/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_HELPER_COMMAND_H
#define COLLSHIM_SHIM_HELPER_COMMAND_H

/* Let the watcher (roll_watch.h) run `collshim stuck` for this process, apart (spawn.h); it prints
   on stderr. The command lies beside the library, or in bin/ beside its folder or that one's. Once,
   as the backend opens. */
void command_open(void);

#endif
