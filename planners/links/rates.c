/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/rates.h"

/*
 * rail     InfiniBand EDR, HDR100 and 100GbE; MPI's latency over them is 1 to 2 us (OSU benchmarks)
 * shm      a rank's copy through memory, which another reads; MPI's latency is 0.3 to 0.6 us
 * nvlink   one link, of V100 to H100, one way
 * pcie     4.0 x16, as copies reach it
 * socket   one UPI link of 10.4 GT/s, one way
 * reduce   one processor adding floats; reduce_gpu: a third of an A100's memory, which is read
 * twice and written once
 */
const struct rates rates_assumed = {
    .rail = {12.5e9, 2e3},
    .link = {[TOPO_LINK_SHM] = {8e9, 500},
             [TOPO_LINK_NVLINK] = {25e9, 1e3},
             [TOPO_LINK_PCIE] = {25e9, 1e3},
             [TOPO_LINK_SOCKET] = {20e9, 1e3},
             [TOPO_LINK_REDUCE] = {5e9, 0},
             [TOPO_LINK_REDUCE_GPU] = {400e9, 0}},
};

struct topo_link rates_least(const struct topo *t, enum topo_link_class c)
{
    return rates_known((struct topo_link){topo_link_least(t, c), t->link[c].latency_ns},
                       rates_assumed.link[c]);
}
