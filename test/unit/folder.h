/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folders for the files of tests, all below one. It goes when the tests are over, also where one of
 * them crashes or a signal ends the program, so no test has to remove its files.
 */
#ifndef COLLSHIM_TEST_UNIT_FOLDER_H
#define COLLSHIM_TEST_UNIT_FOLDER_H

enum { FOLDER_PATH = 64 };

/* A new, empty folder. Fails the test if it cannot be made. */
void folder_make(char path[FOLDER_PATH]);

/*
 * Runs the tests in a child, with a folder for them, and removes that. SIGINT, SIGTERM and SIGHUP
 * end the child first. Returns the exit status of the child, or 128 and the signal that ended it.
 */
int folder_run(int (*tests)(void));

#endif
