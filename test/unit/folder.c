/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/folder.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char all[] = "/tmp/collshim-unit-XXXXXX";
static volatile pid_t child;

void folder_make(char path[FOLDER_PATH])
{
    snprintf(path, FOLDER_PATH, "%s/XXXXXX", all);
    ck_assert_ptr_nonnull(mkdtemp(path));
}

/* Check ends the running test, and then the child. */
static void pass_on(int signal)
{
    if (child > 0)
        kill(child, signal);
}

int folder_run(int (*tests)(void))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[3], act = {.sa_handler = pass_on};
    char command[64];
    int status = 0;

    if (!mkdtemp(all)) {
        perror(all);
        return 1;
    }
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &act, &before[i]);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            sigaction(signals[i], &before[i], NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        setpgid(0, 0); /* Check passes a signal on to its whole group */
        exit(tests());
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    snprintf(command, sizeof command, "rm -rf --one-file-system %s", all);
    if (system(command) != 0)
        fprintf(stderr, "unit: %s could not be removed\n", all);
    return child < 0 ? 1 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
