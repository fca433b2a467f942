/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing: a target takes any bytes and reads them as the product reads them from a file, a
 * process or the network. A target asserts what must hold for all bytes; sanitizers see the rest.
 * One program has all targets (targets.def). Linked with libFuzzer it makes inputs for the one that
 * FUZZ_TARGET names; linked with replay.c it runs the inputs that are kept.
 */
#ifndef COLLSHIM_TEST_FUZZ_H
#define COLLSHIM_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define TARGET(name, what) void fuzz_##name(const uint8_t *data, size_t size);
#include "test/fuzz/targets.def"
#undef TARGET

struct fuzz_target {
    const char *name, *what;
    void (*run)(const uint8_t *data, size_t size);
};
extern const struct fuzz_target fuzz_targets[]; /* ends with a row without a name */

/* The row of that name, or NULL. */
const struct fuzz_target *fuzz_find(const char *name);

/* Before the first input: messages of the product go nowhere. */
void fuzz_begin(void);

/* Ends the process with a line on the original stderr. */
#define FUZZ_MUST(holds) ((holds) ? (void)0 : fuzz_failed(#holds, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *what, const char *file, int line);

/* The bytes as a text; the caller frees. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The path of a file with these bytes, good until the next call; the same path each time. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A folder that goes with the process, and a file in it. */
const char *fuzz_folder(void);
void fuzz_put(const char *name, const uint8_t *data, size_t size);

/* Run a subcommand of collshim; argv ends with NULL. Its output holds nothing that a terminal
   obeys. is_json: and it is one JSON value, if it succeeds. Returns its exit code. */
int fuzz_command(int (*command)(int argc, char **argv), char **argv, int is_json);

/* Catch what is printed on stdout, and end that: the text is the caller's to free. */
void fuzz_catch(void);
char *fuzz_caught(size_t *size);

/* A terminal obeys nothing in it; it is one JSON value. */
void fuzz_must_be_plain(const char *text, size_t size);
void fuzz_must_be_json(const char *text, size_t size);

#endif
