/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watcher: a thread that writes into the roll since when each line has its state. It calls
 * nothing of MPI or NCCL. Where a line stays for COLLSHIM_STUCK, or a signal asks, it starts
 * `collshim stuck`, which reads all processes of the job here, and speaks or not. One watcher of a
 * host does so at a time: it holds a name of the kernel's (an abstract socket), which leaves
 * nothing behind.
 */
#ifndef COLLSHIM_SHIM_RECORD_ROLL_WATCH_H
#define COLLSHIM_SHIM_RECORD_ROLL_WATCH_H

/* How the command is started; the backend sets it. within: COLLSHIM_STUCK in seconds; 0: speak in
   any case. NULL: nothing is said. */
extern void (*roll_watch_start)(int within);

/* Start the watcher, where a roll is kept. Again in one process: nothing. One thread. */
void roll_watch_open(void);

#endif
