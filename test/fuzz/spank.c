/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's plugin, in slurmstepd, which begins as root: the option's value and LD_PRELOAD are the
 * user's. Lines for the node's log are plain, and LD_PRELOAD names ours once.
 */
#include <stdarg.h>

#include "shim/slurm/spank.c"
#include "test/fuzz/fuzz.h"

static const char *list_of_task; /* borrowed */

void slurm_error(const char *format, ...)
{
    char line[2 * LIST_MOST];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fuzz_must_be_plain(line, strlen(line));
    FUZZ_MUST(!strchr(line, '\n'));
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *o)
{
    (void)spank, (void)o;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    va_list args;

    (void)spank, (void)item;
    va_start(args, item);
    *va_arg(args, uint32_t *) = 0;
    va_end(args);
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *value, int size)
{
    (void)spank, (void)name;
    if (strlen(list_of_task) >= (size_t)size)
        return ESPANK_NOSPACE;
    strcpy(value, list_of_task);
    return ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank, (void)overwrite;
    if (!strcmp(name, "LD_PRELOAD")) {
        const char *at = strstr(value, library);

        FUZZ_MUST(strcmp(mode, "off") ? at != NULL : 1);
    } else {
        FUZZ_MUST(!strcmp(name, "COLLSHIM_MODE") && !strcmp(value, mode));
    }
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank, (void)name;
    return ESPANK_SUCCESS;
}

/* The option's value, a line, then LD_PRELOAD. */
void fuzz_spank(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *list = text;
    const char *value = strsep(&list, "\n");
    char library_is[] = "library=/proc/self/exe";

    mode[0] = 0;
    list_of_task = list ? list : "";
    slurm_spank_init(NULL, 1, (char *[]){library_is, NULL});
    take_option(0, value, 1);
    slurm_spank_task_init(NULL, 0, NULL);
    free(text);
}
