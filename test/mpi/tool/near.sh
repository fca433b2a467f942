#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# near COMMAND...: on a machine on which cores 2 to 4 are near the PCI device 0000:10:00.0, and 5 to 7
# near 0000:20:00.0, which the simulated driver has. Exit status 77: it takes root to be on one.
unshare --mount true 2>/dev/null || exit 77
# shellcheck disable=SC2016 # the inner shell's
exec unshare --mount sh -c '
  mount -t tmpfs near /sys/bus/pci/devices && cd /sys/bus/pci/devices && mkdir 0000:10:00.0 0000:20:00.0 || exit 77
  echo 2-4 >0000:10:00.0/local_cpulist
  echo 5-7,40-47 >0000:20:00.0/local_cpulist
  cd /
  exec "$@"' sh "$@"
