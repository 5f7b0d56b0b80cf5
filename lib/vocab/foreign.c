#include "lib/vocab/foreign.h"

#include <stdio.h>
#include <string.h>

bool tg_file_line(tg_file_lines *lines, const char **line, size_t *n)
{
    const size_t left = lines->file->n - lines->at;
    const unsigned char *begin = lines->file->text + lines->at, *end;

    if (left == 0)
        return false;
    end = memchr(begin, '\n', left);
    *line = (const char *)begin;
    *n = end ? (size_t)(end - begin) : left;
    lines->at += *n + (end != NULL);
    lines->number++;
    *n -= *n > 0 && begin[*n - 1] == '\r';
    return true;
}

tg_status tg_file_line_err(const tg_file_lines *lines, tg_err *err)
{
    char where[32];

    snprintf(where, sizeof where, "line %zu", lines->number);
    return tg_err_in(err, where);
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
