/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/process.h"

#include "shim/record/sites/call_site.h"
#include "shim/record/report/job.h"
#include "shim/record/counts/live.h"
#include "shim/helper/helpers.h"

struct nccl_process nccl_process;

void nccl_process_open(void)
{
    if (nccl_process.ncopies)
        return;
    settings_open("NCCL ");
    live_open("NCCL");
    if (settings_want_report() && settings.cfg.mode != CFG_MODE_OFF) {
        job_open();
        site_open(1);
    }
    helpers_init(MAILBOX_FOR_NCCL);
}
