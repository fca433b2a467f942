/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/report/job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/base/schedulers.h"
#include "shim/decide/base/settings.h"
#include "shim/record/counts/count.h"

enum { HOSTS_SHOWN = 256 };

static const struct {
    const char *scheduler, *variable;
} numbers[] = {
#define ROW(scheduler, variable) {scheduler, variable},
    SCHEDULERS(ROW)
#undef ROW
};
static const char *const users[] = {"SLURM_JOB_USER", "USER", "LOGNAME"};

static struct {
    int open;
    const char *scheduler;
    char id[64], array[32], user[64], program[1024], script[256], host[JOB_HOST_BYTES];
    time_t began;
    double clock;
    char (*hosts)[JOB_HOST_BYTES]; /* sorted; never freed: for the process's life */
    int nhosts, nodes;             /* nodes: at least */
} job;

static void copy(char *text, size_t size, const char *from)
{
    snprintf(text, size, "%s", from ? from : "");
}

/* "python3 app.py": the interpreter says nothing of the program. The first argument without a
   dash; other arguments are the user's own and stay so. */
static void find_script(void)
{
    static const char *const interpreters[] = {"python", "perl", "ruby", "Rscript", "julia"};
    const char *name = strrchr(job.program, '/');
    char line[2048] = "";
    FILE *f = NULL;
    size_t n;

    name = name ? name + 1 : job.program;
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters && !f; i++)
        if (!strncmp(name, interpreters[i], strlen(interpreters[i])))
            f = fopen("/proc/self/cmdline", "re");
    if (!f)
        return;
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    for (const char *word = line + strlen(line) + 1; word < line + n; word += strlen(word) + 1)
        if (word[0] != '-') {
            copy(job.script, sizeof job.script, word);
            return;
        } else if (!strcmp(word, "-c")) {
            return;
        }
}

void job_open(void)
{
    if (job.open)
        return;
    job.open = 1;
    job.began = time(NULL);
    job.clock = count_now();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !job.id[0]; i++) {
        job.scheduler = numbers[i].scheduler;
        copy(job.id, sizeof job.id, secure_getenv(numbers[i].variable));
    }
    copy(job.array, sizeof job.array, secure_getenv("SLURM_ARRAY_TASK_ID"));
    for (size_t i = 0; i < sizeof users / sizeof *users && !job.user[0]; i++)
        copy(job.user, sizeof job.user, secure_getenv(users[i]));
    ssize_t n = readlink("/proc/self/exe", job.program, sizeof job.program - 1);
    job.program[n > 0 ? n : 0] = 0;
    find_script();
    gethostname(job.host, sizeof job.host - 1);
    job_add_host(job.host);
}

const char *job_id(void)
{
    return job.id;
}

long long job_began(void)
{
    return (long long)job.began;
}

const char *job_host(void)
{
    return job.host;
}

int job_host_count(void)
{
    return job.nhosts;
}

const char *job_host_at(int i)
{
    return job.hosts[i];
}

void job_add_host(const char *name)
{
    int low = 0, high = job.nhosts;

    if (!job.hosts)
        job.hosts = calloc(JOB_HOSTS, sizeof *job.hosts);
    if (!job.hosts || !name[0])
        return;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(name, job.hosts[middle]);

        if (!order)
            return;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (job.nhosts == JOB_HOSTS)
        return;
    memmove(job.hosts + low + 1, job.hosts + low, (size_t)(job.nhosts - low) * sizeof *job.hosts);
    copy(job.hosts[low], sizeof job.hosts[low], name);
    job.nhosts++;
}

void job_has_nodes(int n)
{
    int known = __atomic_load_n(&job.nodes, __ATOMIC_RELAXED);

    while (n > known && !__atomic_compare_exchange_n(&job.nodes, &known, n, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
        ;
}

int job_nodes(void)
{
    return job.nodes > job.nhosts ? job.nodes : job.nhosts;
}

static void put_text(struct json *j, const char *key, const char *text)
{
    json_string(j, key, text && text[0] ? text : NULL);
}

void job_report(struct json *j)
{
    int shown = job.nhosts < HOSTS_SHOWN ? job.nhosts : HOSTS_SHOWN;
    char value[CFG_TEXT_MAX];

    json_open(j, "job", '{');
    put_text(j, "id", job.id);
    put_text(j, "array_task", job.array);
    json_string(j, "scheduler", job.id[0] ? job.scheduler : NULL);
    put_text(j, "user", job.user);
    json_int(j, "uid", (long long)geteuid());
    put_text(j, "program", job.program);
    put_text(j, "script", job.script);
    json_int(j, "began", (long long)job.began);
    json_rounded(j, "seconds", 6, count_now() - job.clock);
    json_int(j, "nodes", job_nodes());
    json_open(j, "hosts", '[');
    for (int i = 0; i < shown; i++)
        json_string(j, NULL, job.hosts[i]);
    json_close(j, ']');
    json_int(j, "hosts_not_listed", job_nodes() - shown);
    json_close(j, '}');
    json_open(j, "changed", '{');
    for (int id = 0; id < CFG_COUNT; id++) {
        cfg_value_text(&settings.cfg, (enum cfg_id)id, value, sizeof value);
        if (strcmp(value, cfg_rows[id].default_text) != 0)
            json_string(j, cfg_rows[id].name, value);
    }
    json_close(j, '}');
    json_open(j, "origins", '{');
    for (int id = 0; id < CFG_COUNT; id++)
        if (settings.cfg.origin[id] != CFG_FROM_DEFAULT)
            json_string(j, cfg_rows[id].name, cfg_origin_texts[settings.cfg.origin[id]]);
    json_close(j, '}');
}
