/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/machine/machine.h"

#include <errno.h>
#include <stdlib.h>

const char *machine_nic_kind_name(enum machine_nic_kind kind)
{
    static const char *const names[] = {
        [NIC_RDMA] = "RDMA",
        [NIC_PHYSICAL] = "physical",
        [NIC_VIRTUAL] = "virtual",
        [NIC_LOCAL] = "this host only",
    };

    return names[kind];
}

static int count_cores(const struct machine *m)
{
    int cores = 0;

    for (int p = 0; p < m->npackages; p++)
        cores += m->package[p].cores;
    return cores;
}

/* One report per GPU, ordered by package as the ranks of a job are bound, or one per core. */
static int fill_reports(const struct machine *m, struct topo_report *report)
{
    int n = 0;

    for (int p = -1; p < m->npackages; p++)
        for (int g = 0; g < m->ngpus; g++)
            if (m->gpu[g].package == p) {
                report[n] = (struct topo_report){.socket = p < 0 ? 0 : p, .gpu = n};
                n++;
            }
    if (n)
        return n;
    for (int p = 0; p < m->npackages; p++)
        for (int core = 0; core < m->package[p].cores; core++)
            report[n++] = (struct topo_report){.socket = p, .gpu = -1};
    if (n == 0)
        report[n++] = (struct topo_report){.gpu = -1};
    return n;
}

/* The fewest bytes per second over the links of two GPUs; 0 if unknown. */
static double nvlink_rate(const struct machine *m)
{
    double least = 0;

    for (int a = 0; a < m->ngpus; a++)
        for (int b = 0; b < m->ngpus; b++) {
            double rate = m->gpu[a].links[b] * m->gpu[a].link_bytes_per_s;

            if (rate > 0 && (least == 0 || rate < least))
                least = rate;
        }
    return least;
}

int machine_topo(const struct machine *m, struct topo **topo_p)
{
    struct topo_report *report = calloc((size_t)(m->ngpus + count_cores(m) + 1), sizeof *report);
    struct topo *t;
    int nrails = 0, code;

    if (!report)
        return -ENOMEM;
    for (int i = 0; i < m->nnics; i++)
        nrails += !m->nic[i].no_rail;
    code = topo_from_reports(report, fill_reports(m, report), nrails ? nrails : 1, &t);
    free(report);
    if (code)
        return code;
    for (int i = 0, rail = 0; i < m->nnics; i++)
        if (!m->nic[i].no_rail)
            t->rail[rail++].bw_bytes_per_s = m->nic[i].bw_bytes_per_s;
    t->link[TOPO_LINK_NVLINK].bw_bytes_per_s = nvlink_rate(m);
    *topo_p = t;
    return 0;
}
