/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVLinks, as NVIDIA's management library describes them: how many there are between two GPUs, and
 * the rate of each. The CUDA driver does not tell. Found at run time. For `collshim topo` alone:
 * starting that library takes tens of milliseconds, and a job measures its paths anyway.
 */
#ifndef COLLSHIM_SHIM_CLI_NVML_H
#define COLLSHIM_SHIM_CLI_NVML_H

/* By PCI address, as the CUDA driver writes it. Links between the two, and the rate of one each way
   in bytes/s. If all links go to a switch, those of the GPU that has fewer. 0: none, or there is no
   such library. */
int nvml_links(const char *a, const char *b, double *bytes_per_s);

#endif
