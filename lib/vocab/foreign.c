#include "lib/vocab/foreign.h"

#include <stdio.h>
#include <string.h>

bool tg_file_line(const tg_file_text *file, size_t *at, const char **line, size_t *n)
{
    const unsigned char *begin = file->text + *at, *end;

    if (*at == file->n)
        return false;
    end = memchr(begin, '\n', file->n - *at);
    *line = (const char *)begin;
    *n = end ? (size_t)(end - begin) : file->n - *at;
    *at += *n + (end != NULL);
    *n -= *n > 0 && begin[*n - 1] == '\r';
    return true;
}

const char *tg_token_shown(char out[TG_TOKEN_SHOWN], const void *text, size_t n)
{
    const unsigned char *p = text;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (at + 8 > TG_TOKEN_SHOWN) { /* no room for this byte and the dots */
            memcpy(out + at, "...", 3);
            at += 3;
            break;
        }
        if (p[i] >= ' ' && p[i] < 0x7F)
            out[at++] = (char)p[i];
        else
            at += (size_t)snprintf(out + at, 5, "\\x%02X", p[i]);
    }
    out[at] = '\0';
    return out;
}
