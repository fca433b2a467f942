/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz CORPUS [TARGET]: run all targets, or one, on the inputs that are kept in CORPUS/TARGET. Each
 * target is a process, so that one that crashes is one that fails. With --list: the targets.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"

enum { LARGEST = 1 << 20 };

static int run_files(const struct fuzz_target *t, const char *corpus)
{
    static uint8_t input[LARGEST];
    char path[4096];
    struct dirent *e;
    int n = 0;

    snprintf(path, sizeof path, "%s/%s", corpus, t->name);
    DIR *d = opendir(path);
    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", corpus, t->name, e->d_name);
        FILE *f = fopen(path, "re");
        if (!f)
            exit(1);
        size_t size = fread(input, 1, sizeof input, f);
        fclose(f);
        uint8_t *exact = malloc(size ? size : 1); /* a read behind its end is seen by tools */
        if (!exact)
            exit(1);
        memcpy(exact, input, size);
        t->run(exact, size);
        free(exact);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

/* Returns whether all inputs ran. */
static int run_target(const struct fuzz_target *t, const char *corpus)
{
    int status = 0, up[2], n = 0;

    if (pipe(up))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        fuzz_begin();
        n = run_files(t, corpus);
        exit(write(up[1], &n, sizeof n) != sizeof n);
    }
    close(up[1]);
    int told = read(up[0], &n, sizeof n) == sizeof n && n > 0;
    close(up[0]);
    waitpid(child, &status, 0);
    int well = told && !status;
    printf("%sok - %s: %d inputs%s%s\n", well ? "" : "not ", t->name, n,
           WIFSIGNALED(status) ? ", ended by SIG" : "",
           WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "");
    return well;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (const struct fuzz_target *t = fuzz_targets; t->name; t++)
            printf("%-12s %s\n", t->name, t->what);
        return 0;
    }
    if (argc < 2 || argc > 3 || (argc == 3 && !fuzz_find(argv[2]))) {
        fprintf(stderr, "fuzz CORPUS [TARGET]; `fuzz --list` shows the targets\n");
        return 2;
    }
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
        if (argc == 3 && strcmp(t->name, argv[2]) != 0)
            continue;
        fflush(stdout);
        if (run_target(t, argv[1]))
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
