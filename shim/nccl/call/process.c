/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/call/process.h"

#include "shim/helper/command.h"
#include "shim/helper/helpers.h"
#include "shim/record/counts/live.h"
#include "shim/record/report/job.h"
#include "shim/record/sites/call_site.h"

struct nccl_process nccl_process;

void nccl_process_open(void)
{
    if (nccl_process.ncopies)
        return;
    settings_open("NCCL ");
    live_open("NCCL");
    command_open();
    if (settings_want_report() && settings.cfg.mode != CFG_MODE_OFF) {
        job_open();
        site_open(1);
    }
    helpers_init(MAILBOX_FOR_NCCL);
}

void nccl_process_note_message(int sent)
{
    __atomic_fetch_add(sent ? &nccl_process.sends : &nccl_process.recvs, 1, __ATOMIC_RELAXED);
}

void nccl_process_note_helpers(int processes, int mps)
{
    nccl_process.processes = processes;
    nccl_process.mps = mps;
}
