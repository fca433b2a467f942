/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/text.h"

#include <string.h>

int text_character(const char *text, size_t n, unsigned *code)
{
    static const struct {
        unsigned char first, last, least, most; /* of the first byte; of the second one */
        int length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *c = (const unsigned char *)text;

    for (size_t i = 0; n && i < sizeof forms / sizeof *forms; i++) {
        int length = forms[i].length;

        if (*c < forms[i].first || *c > forms[i].last)
            continue;
        if ((size_t)length > n || (length > 1 && (c[1] < forms[i].least || c[1] > forms[i].most)))
            return 0;
        *code = length > 1 ? *c & (0x7fu >> length) : *c;
        for (int k = 1; k < length; k++) {
            if ((c[k] & 0xc0) != 0x80)
                return 0;
            *code = *code << 6 | (c[k] & 0x3f);
        }
        return length;
    }
    return 0;
}

int text_is_control(unsigned code)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfff9, 0xfffb},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return 1;
    return 0;
}

/* out may be text: it never grows. */
const char *text_show(char *out, size_t size, const char *text, size_t n)
{
    size_t room = n < size ? n : size - 4, at = 0, used = 0;

    while (at < room) {
        unsigned code;
        int length = text_character(text + at, n - at, &code);

        if (at + (size_t)length > room)
            break;
        if (length && !text_is_control(code)) {
            memmove(out + used, text + at, (size_t)length);
            used += (size_t)length;
        } else {
            out[used++] = '?';
        }
        at += length ? (size_t)length : 1;
    }
    if (at < n) {
        memcpy(out + used, "...", 3);
        used += 3;
    }
    out[used] = 0;
    return out;
}

const char *text_clean(char *text)
{
    size_t n = strlen(text);

    return text_show(text, n + 1, text, n);
}
