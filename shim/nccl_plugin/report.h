/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of a program whose NCCL calls only its plugins see. It is written at the process's
 * exit, as shim/nccl's. Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_REPORT_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_REPORT_H

/* NCCL uses that version of the tuner, of the profiler. */
void plugin_report_tuner(int version);
void plugin_report_profiler(int version);

/* Does it use the tuner? */
int plugin_report_is_tuned(void);

/* A message of ncclSend (sent) or ncclRecv. */
void plugin_report_message(int sent);

#endif
