/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing JSON, one value after the other: reports, the command's --json, the bench's lines. libc
 * alone, because it is part of the backends; reading JSON is jansson's work, in the command only.
 * The writer keeps track of commas and indentation; the caller opens and closes objects and lists.
 * key is NULL inside a list. Strings may hold any bytes; bytes that are not UTF-8 become U+FFFD.
 * Errors stay in the stream, for the caller's ferror().
 */
#ifndef COLLSHIM_CONFIG_JSON_H
#define COLLSHIM_CONFIG_JSON_H

#include <stdio.h>

struct json {
    FILE *f;   /* borrowed */
    int depth; /* how many objects and lists are open */
    int first; /* nothing stands in the innermost one yet */
    int line;  /* the caller's: while not 0, no line breaks and no blanks */
};

struct json json_begin(FILE *f);
void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']'; the outermost ends the line */
void json_string(struct json *j, const char *key, const char *value); /* NULL: null */
void json_int(struct json *j, const char *key, long long value);
void json_bool(struct json *j, const char *key, int value);
void json_null(struct json *j, const char *key);

/* Every bit of the value, in 15 digits where they do; or as many significant digits, 1 to 17. null
   if it is not finite. */
void json_number(struct json *j, const char *key, double value);
void json_rounded(struct json *j, const char *key, int digits, double value);
void json_known(struct json *j, const char *key, double value); /* 0, not known: null */
void json_index(struct json *j, const char *key, int value);    /* below 0, none: null */

#endif
