/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs are told by PCI class and vendor, so that they are listed without any vendor's library. The
 * CUDA driver, if there is one, adds its own number for each, and how they reach each other. The
 * management library adds the number of NVLinks.
 */
#include "shim/cli/machine/machine_gpu.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shim/cli/machine/nvml.h"

/* Display controllers of a server's console are of these classes, too, but of other vendors. */
static int is_gpu(const struct hwloc_pcidev_attr_s *pci)
{
    enum { VGA = 0x0300, THREE_D = 0x0302, DISPLAY = 0x0380, ACCELERATOR = 0x1200 };
    enum { NVIDIA = 0x10de, AMD = 0x1002, INTEL = 0x8086 };

    switch (pci->class_id) {
    case VGA:
        return pci->vendor_id == NVIDIA || pci->vendor_id == AMD;
    case THREE_D:
    case DISPLAY:
    case ACCELERATOR:
        return pci->vendor_id == NVIDIA || pci->vendor_id == AMD || pci->vendor_id == INTEL;
    default:
        return 0;
    }
}

int machine_package_of(hwloc_topology_t topology, hwloc_obj_t device)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device), p = NULL;
    int index = 0;

    if (!near || !near->cpuset)
        return -1;
    while ((p = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, p)) != NULL) {
        if (hwloc_bitmap_isincluded(near->cpuset, p->cpuset))
            return index;
        index++;
    }
    return -1;
}

static int numa_of(hwloc_topology_t topology, hwloc_obj_t device)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);

    return near && near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1
               ? hwloc_bitmap_first(near->nodeset)
               : -1;
}

/* How far below the root the ways to both part: the more, the nearer they are. */
static int common_levels(hwloc_obj_t a, hwloc_obj_t b)
{
    int levels = 0;

    for (; a; a = a->parent)
        for (hwloc_obj_t o = b; o; o = o->parent)
            if (o == a) {
                for (; a; a = a->parent)
                    levels++;
                return levels;
            }
    return levels;
}

static hwloc_obj_t find_device(hwloc_topology_t topology, const char *name)
{
    hwloc_obj_t o = NULL;

    while ((o = hwloc_get_next_osdev(topology, o)) != NULL)
        if (o->name && !strcmp(o->name, name))
            return o;
    return NULL;
}

/* Which rails are nearest? One that hwloc does not show hangs on the root, for all it knows. */
static void find_near_rails(const struct machine *m, struct machine_gpu *gpu,
                            hwloc_topology_t topology, hwloc_obj_t device)
{
    int levels[MACHINE_MOST], most = 0;

    for (int i = 0; i < m->nnics; i++) {
        hwloc_obj_t nic = m->nic[i].no_rail ? NULL : find_device(topology, m->nic[i].name);

        levels[i] = m->nic[i].no_rail ? 0 : nic && device ? common_levels(nic, device) : 1;
        most = levels[i] > most ? levels[i] : most;
    }
    for (int i = 0; i < m->nnics; i++)
        gpu->near[i] = most > 0 && levels[i] == most;
}

static struct machine_gpu *add(struct machine *m, hwloc_topology_t topology, hwloc_obj_t device)
{
    struct machine_gpu *gpu = &m->gpu[m->ngpus++];

    *gpu = (struct machine_gpu){.package = -1, .numa = -1, .cuda = -1};
    find_near_rails(m, gpu, topology, device);
    return gpu;
}

static void list_by_pci(struct machine *m, hwloc_topology_t topology)
{
    hwloc_obj_t o = NULL;

    while (m->ngpus < MACHINE_MOST && (o = hwloc_get_next_pcidev(topology, o)) != NULL) {
        const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
        const char *vendor = hwloc_obj_get_info_by_name(o, "PCIVendor");
        const char *name = hwloc_obj_get_info_by_name(o, "PCIDevice");

        if (!is_gpu(pci))
            continue;
        struct machine_gpu *gpu = add(m, topology, o);
        gpu->package = machine_package_of(topology, o);
        gpu->numa = numa_of(topology, o);
        snprintf(gpu->address, sizeof gpu->address, "%04x:%02x:%02x.%x", pci->domain, pci->bus,
                 pci->dev, pci->func);
        if (name)
            snprintf(gpu->name, sizeof gpu->name, "%s %s", vendor ? vendor : "", name);
        else
            snprintf(gpu->name, sizeof gpu->name, "PCI device %04x:%04x", pci->vendor_id,
                     pci->device_id);
    }
}

static struct machine_gpu *find_gpu(struct machine *m, const char *address)
{
    for (int i = 0; i < m->ngpus; i++)
        if (!strcasecmp(m->gpu[i].address, address))
            return &m->gpu[i];
    return NULL;
}

static void find_link(struct machine *m, int a, int b)
{
    struct machine_gpu *gpu = &m->gpu[a];

    if (a == b || gpu->cuda < 0 || m->gpu[b].cuda < 0)
        return;
    gpu->peer[b] = cuda_link_between(gpu->cuda, m->gpu[b].cuda);
    if (gpu->peer[b] == CUDA_LINK_NVLINK)
        gpu->links[b] =
            (unsigned char)nvml_links(gpu->address, m->gpu[b].address, &gpu->link_bytes_per_s);
}

static void ask_driver(struct machine *m, hwloc_topology_t topology, int own)
{
    static struct cuda_device device[MACHINE_MOST];
    int n = cuda_list(device, MACHINE_MOST);

    for (int i = 0; i < n; i++) {
        struct machine_gpu *gpu = find_gpu(m, device[i].address);

        if (!gpu && own && m->ngpus < MACHINE_MOST) {
            gpu = add(m, topology, NULL);
            snprintf(gpu->address, sizeof gpu->address, "%s", device[i].address);
        }
        if (!gpu)
            continue;
        gpu->cuda = i;
        snprintf(gpu->name, sizeof gpu->name, "%s", device[i].name);
    }
    for (int a = 0; a < m->ngpus; a++)
        for (int b = 0; b < m->ngpus; b++)
            find_link(m, a, b);
}

void machine_list_gpus(struct machine *m, hwloc_topology_t topology, int own)
{
    list_by_pci(m, topology);
    ask_driver(m, topology, own);
}
