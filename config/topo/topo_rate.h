/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates and times as a person writes them: 100Mbit, 12.5GB/s, 1500ns.
 *
 * Reading: *at stands on the first character and is moved behind the last one.
 * Returns 0 and a value in bytes per second or ns, or -EINVAL (*at is then
 * untouched). A plain 0 is read as 0, "not known".
 *
 * Printing: a short form that reads back as exactly the same double. Returns as snprintf does. Both
 * are the same in every locale.
 */
#ifndef COLLSHIM_CONFIG_TOPO_RATE_H
#define COLLSHIM_CONFIG_TOPO_RATE_H

#include <stddef.h>

#define TOPO_RATE_EXPECTED "a rate such as 100Mbit, 200Gbit or 25GB/s"
#define TOPO_TIME_EXPECTED "a time such as 1500ns, 1.5us or 2ms"
#define TOPO_RATE_TEXT 48 /* bytes that any printed rate or time fits in */

int topo_read_rate(const char **at, double *bytes_per_s);
int topo_read_time(const char **at, double *ns);
int topo_print_rate(double bytes_per_s, char *text, size_t size);     /* 25GB/s, as of links */
int topo_print_bit_rate(double bytes_per_s, char *text, size_t size); /* 200Gbit, as of rails */
int topo_print_time(double ns, char *text, size_t size);

#endif
