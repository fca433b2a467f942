/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which job a report is of: scheduler and number, user, program, hosts, times. All of it is what
 * the environment and /proc say; no name service is asked, which a compute node may not reach.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_RECORD_JOB_H
#define COLLSHIM_SHIM_RECORD_JOB_H

#include "config/base/json.h"

/* At the start of the process's work; again: nothing. */
void job_open(void);

/* The scheduler's number of the job, "" without a scheduler. Borrowed. */
const char *job_id(void);

/* Seconds since 1970 of job_open. */
long long job_began(void);

/* Hosts of the job in alphabetical order, this one among them; the first JOB_HOSTS. Borrowed. */
enum { JOB_HOSTS = 4096, JOB_HOST_BYTES = 64 };
const char *job_host(void);
int job_host_count(void);
const char *job_host_at(int i);

/* One more; one that is there already, and one too many, change nothing. */
void job_add_host(const char *name);

/* The job has at least that many hosts, of any names. Any thread. */
void job_has_nodes(int n);
int job_nodes(void);

/* The object "job", and "changed": the settings that are not at their default. "origins": where
   each setting is from that something has set. */
void job_report(struct json *j);

#endif
