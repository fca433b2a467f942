#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pmi_server.py NAME HOW PROGRAM [ARGUMENT...]: plays the launcher at the other end of PMI_FD.

Runs PROGRAM as rank 0 with the variables that Hydra sets, under the process name NAME, and prints
each line that it is sent. HOW: answer (as Hydra does), close (at the first line) or deaf (never a
word; the descriptor is closed after a second). The exit status is PROGRAM's.
"""
import os
import socket
import subprocess
import sys
import threading
import time

name, how, program = sys.argv[1], sys.argv[2], sys.argv[3:]
with open("/proc/self/comm", "w", encoding="ascii") as comm:
    comm.write(name)
ours, theirs = socket.socketpair()
answers = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_my_kvsname": "cmd=my_kvsname kvsname=kvs_7",
    "put": "cmd=put_result rc=0 msg=success",
}


def serve():
    if how == "deaf":
        time.sleep(1)
        ours.shutdown(socket.SHUT_RDWR)
    lines = ours.makefile("r")
    for line in lines:
        print("asked:", line.strip(), flush=True)
        if how == "close":
            ours.shutdown(socket.SHUT_RDWR)
            return
        words = dict(word.split("=", 1) for word in line.split())
        ours.sendall((answers.get(words["cmd"], "cmd=unknown rc=-1") + "\n").encode())


threading.Thread(target=serve, daemon=True).start()
environment = dict(
    os.environ,
    PMI_FD=str(theirs.fileno()),
    PMI_RANK="0",
    PMI_SIZE="1",
    MPI_LOCALNRANKS="1",
    MPI_LOCALRANKID="0",
    GFORTRAN_UNBUFFERED_PRECONNECTED="y",
)
child = subprocess.run(program, env=environment, pass_fds=[theirs.fileno()], check=False)
sys.exit(child.returncode)
