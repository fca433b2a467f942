/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "config/base/text.h"
#include "shim/cli/cli.h"

FILE *gnuplot_open(void)
{
    FILE *f = NULL;

    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        cli_fail("gnuplot is not installed; Debian has it in gnuplot-nox");
    else if (!(f = popen("gnuplot 2>/dev/null", "we"))) /* a fixed text: nothing of the user's */
        cli_fail("gnuplot cannot be started: %s", strerror(errno));
    return f;
}

static int is_svg(const char *picture)
{
    size_t n = strlen(picture);

    return n > 4 && !strcmp(picture + n - 4, ".svg");
}

void gnuplot_output(FILE *f, const char *picture, int width, int height)
{
    /* A name that begins with | would be a command of the shell; a line's end would end ours. */
    fprintf(f, "set terminal %s size %d,%d\nset output '%s", is_svg(picture) ? "svg" : "png", width,
            height, *picture == '|' ? "./" : "");
    for (const char *p = picture; *p; p++)
        fprintf(f, *p == '\'' ? "''" : "%c", *p == '\n' || *p == '\r' ? '?' : *p);
    fputs("'\n", f);
}

void gnuplot_text(FILE *f, char *text)
{
    fputc('"', f);
    for (text_clean(text); *text; text++)
        fputc(strchr("\"\\`@", *text) ? '?' : *text, f); /* `: a command of the shell, @: a macro */
    fputc('"', f);
}

int gnuplot_close(FILE *f, const char *picture)
{
    int status = pclose(f);

    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return cli_fail("gnuplot could not write %s", picture);
    return CLI_OK;
}
