/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables in which schedulers tell a job its number. SCHEDULERS(ROW) has ROW(scheduler,
   variable); the first variable that is set counts. */
#ifndef COLLSHIM_CONFIG_SCHEDULERS_H
#define COLLSHIM_CONFIG_SCHEDULERS_H

#define SCHEDULERS(ROW)                                                                            \
    ROW("slurm", "SLURM_JOB_ID")                                                                   \
    ROW("slurm", "SLURM_JOBID")                                                                    \
    ROW("pbs", "PBS_JOBID")                                                                        \
    ROW("lsf", "LSB_JOBID")                                                                        \
    ROW("flux", "FLUX_JOB_ID")                                                                     \
    ROW("cobalt", "COBALT_JOBID")                                                                  \
    ROW("oar", "OAR_JOB_ID")                                                                       \
    ROW("sge", "JOB_ID")

#endif
