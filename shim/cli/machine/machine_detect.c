/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detection. hwloc knows packages, PCI devices and their places. It leaves out network devices
 * without PCI (veth, bridges), so sysfs has the list and hwloc adds the place. Its plugins for GPUs
 * are not used: the driver tells the same, if there is one (machine_gpu.c).
 */
#define _GNU_SOURCE /* strverscmp */
#include "shim/cli/machine/machine_detect.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/text.h"
#include "shim/cli/machine/machine_gpu.h"

#define NET "/sys/class/net"
#define INFINIBAND "/sys/class/infiniband"
#define ARPHRD_LOOPBACK_TYPE 772 /* in .../type, as <linux/if_arp.h> has it */

/* --- sysfs --- */

/* The first line of directory/device/file; "" if it cannot be read. */
static const char *sys_line(const char *directory, const char *device, const char *file, char *line,
                            size_t size)
{
    char path[512];
    FILE *f;

    line[0] = 0;
    snprintf(path, sizeof path, "%s/%s/%s", directory, device, file);
    f = fopen(path, "re");
    if (!f)
        return line;
    if (!fgets(line, (int)size, f))
        line[0] = 0;
    fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static int sys_has(const char *directory, const char *device, const char *file)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s/%s", directory, device, file);
    return access(path, F_OK) == 0;
}

static int sys_number(const char *directory, const char *device, const char *file)
{
    char line[64];

    return atoi(sys_line(directory, device, file, line, sizeof line));
}

/* A veth, VLAN or macvlan has another device behind it; a bridge, dummy or tunnel leads nowhere. */
static enum machine_nic_kind net_kind(const char *name)
{
    if (sys_number(NET, name, "type") == ARPHRD_LOOPBACK_TYPE)
        return NIC_LOCAL;
    if (sys_has(NET, name, "device"))
        return NIC_PHYSICAL;
    if (sys_number(NET, name, "iflink") != sys_number(NET, name, "ifindex"))
        return NIC_VIRTUAL;
    return NIC_LOCAL;
}

static void read_net(struct machine_nic *nic)
{
    char state[32];
    int mbit = sys_number(NET, nic->name, "speed");

    nic->kind = net_kind(nic->name);
    nic->is_up = !strcmp(sys_line(NET, nic->name, "operstate", state, sizeof state), "up");
    if (nic->kind == NIC_PHYSICAL && mbit > 0)
        nic->bw_bytes_per_s = mbit * 125000.0;
}

/* "100 Gb/sec (4X EDR)" and "4: ACTIVE", of the first port that is active, else of port 1. */
static void read_infiniband(struct machine_nic *nic)
{
    char line[64], file[32];

    nic->kind = NIC_RDMA;
    for (int port = 2; port >= 1 && !nic->is_up; port--) {
        snprintf(file, sizeof file, "ports/%d/state", port);
        nic->is_up = atoi(sys_line(INFINIBAND, nic->name, file, line, sizeof line)) == 4;
        snprintf(file, sizeof file, "ports/%d/rate", port);
        sys_line(INFINIBAND, nic->name, file, line, sizeof line);
        nic->bw_bytes_per_s = strstr(line, "Gb/sec") ? strtod(line, NULL) * 1.25e8 : 0;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct machine_nic *x = a, *y = b;

    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strverscmp(x->name, y->name);
}

static void list_devices(struct machine *m, const char *directory,
                         void (*read)(struct machine_nic *nic))
{
    DIR *d = opendir(directory);
    const struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d)) != NULL && m->nnics < MACHINE_MOST) {
        struct machine_nic *nic = &m->nic[m->nnics];

        if (entry->d_name[0] == '.' || !sys_has(directory, entry->d_name, "."))
            continue;
        *nic = (struct machine_nic){.package = -1};
        if (snprintf(nic->name, sizeof nic->name, "%s", entry->d_name) >= (int)sizeof nic->name)
            continue;
        read(nic);
        m->nnics++;
    }
    closedir(d);
}

/* --- hwloc --- */

static int load_hwloc(hwloc_topology_t *topology)
{
    static const char *const plugins[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};

    if (hwloc_topology_init(topology) < 0)
        return -1;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      plugins[i]);
    hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(*topology) == 0)
        return 0;
    hwloc_topology_destroy(*topology);
    return -1;
}

static uint64_t memory_of(hwloc_topology_t topology, hwloc_obj_t package)
{
    hwloc_obj_t node = NULL;
    uint64_t bytes = 0;

    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL)
        if (hwloc_bitmap_isincluded(node->cpuset, package->cpuset))
            bytes += node->attr->numanode.local_memory;
    return bytes;
}

static void list_packages(struct machine *m, hwloc_topology_t topology)
{
    hwloc_obj_t p = NULL;

    while (m->npackages < MACHINE_MOST &&
           (p = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, p)) != NULL)
        m->package[m->npackages++] = (struct machine_package){
            .cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, p->cpuset, HWLOC_OBJ_CORE),
            .pus = hwloc_get_nbobjs_inside_cpuset_by_type(topology, p->cpuset, HWLOC_OBJ_PU),
            .memory_bytes = memory_of(topology, p),
        };
    if (m->npackages)
        return;
    p = hwloc_get_root_obj(topology); /* some virtual machines show cores without a package */
    m->package[m->npackages++] = (struct machine_package){
        .cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
        .pus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
        .memory_bytes = p->total_memory,
    };
}

static struct machine_nic *find_nic(struct machine *m, const char *name)
{
    for (int i = 0; i < m->nnics; i++)
        if (!strcmp(m->nic[i].name, name))
            return &m->nic[i];
    return NULL;
}

/* Does the PCI device above this one carry an RDMA device, too? Then both are one rail. */
static int has_rdma_twin(hwloc_obj_t device)
{
    for (hwloc_obj_t o = device->parent ? device->parent->io_first_child : NULL; o;
         o = o->next_sibling)
        if (o->type == HWLOC_OBJ_OS_DEVICE && o->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
            return 1;
    return 0;
}

/* own_sysfs: the devices are listed already; else hwloc describes another machine and is all. */
static void place_nics(struct machine *m, hwloc_topology_t topology, int own_sysfs)
{
    hwloc_obj_t o = NULL;

    while ((o = hwloc_get_next_osdev(topology, o)) != NULL) {
        int is_net = o->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
        struct machine_nic *nic;

        if (!o->name || (!is_net && o->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS))
            continue;
        nic = find_nic(m, o->name);
        if (!nic && !own_sysfs && m->nnics < MACHINE_MOST) {
            nic = &m->nic[m->nnics++];
            *nic = (struct machine_nic){.kind = is_net ? NIC_PHYSICAL : NIC_RDMA, .is_up = 1};
            snprintf(nic->name, sizeof nic->name, "%s", o->name);
        }
        if (!nic)
            continue;
        nic->package = machine_package_of(topology, o);
        if (is_net && has_rdma_twin(o))
            nic->no_rail = "is the same as its RDMA device";
    }
}

/* --- rails --- */

static int has_kind(const struct machine *m, enum machine_nic_kind kind)
{
    for (int i = 0; i < m->nnics; i++)
        if (m->nic[i].kind == kind && m->nic[i].is_up)
            return 1;
    return 0;
}

/* Rails are the devices of the best kind that is up. An Ethernet card for logins is no rail beside
   RDMA, and a container's bridge is no rail beside a card. */
static void choose_rails(struct machine *m)
{
    int rdma = has_kind(m, NIC_RDMA), physical = has_kind(m, NIC_PHYSICAL);

    for (int i = 0; i < m->nnics; i++) {
        struct machine_nic *nic = &m->nic[i];

        if (nic->no_rail)
            continue;
        if (nic->kind == NIC_LOCAL)
            nic->no_rail = "does not leave the host";
        else if (!nic->is_up)
            nic->no_rail = "is down";
        else if (rdma && nic->kind != NIC_RDMA)
            nic->no_rail = "there are RDMA devices";
        else if (physical && nic->kind == NIC_VIRTUAL)
            nic->no_rail = "there are physical ones";
    }
}

int machine_detect(struct machine *m, char *why, size_t why_size)
{
    hwloc_topology_t topology;
    int own_sysfs;

    memset(m, 0, sizeof *m);
    if (load_hwloc(&topology) < 0) {
        snprintf(why, why_size, "hwloc cannot read this machine's topology; is /sys mounted?");
        return -ENODEV;
    }
    own_sysfs = hwloc_topology_is_thissystem(topology);
    if (own_sysfs) {
        list_devices(m, INFINIBAND, read_infiniband);
        list_devices(m, NET, read_net);
    }
    list_packages(m, topology);
    place_nics(m, topology, own_sysfs);
    qsort(m->nic, (size_t)m->nnics, sizeof *m->nic, by_name);
    choose_rails(m);
    machine_list_gpus(m, topology, own_sysfs);
    hwloc_topology_destroy(topology);
    for (int i = 0; i < m->nnics; i++) /* no name is looked up any more */
        text_clean(m->nic[i].name);
    for (int g = 0; g < m->ngpus; g++)
        text_clean(m->gpu[g].name);
    return 0;
}
