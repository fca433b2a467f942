/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim-exec`: `collshim exec` as a program of its own, which needs libc alone. Compute nodes
 * and containers need not have the libraries that the other commands use.
 */
#include "shim/cli/cli.h"

int main(int argc, char **argv)
{
    argv[0] = (char[]){"exec"};
    return cli_exec(argc, argv);
}
