/* view: the text of tokens: its width, and characters that must be escaped. */
#include "cmd/tg-attn-view/view.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* Invisible characters that terminals and browsers obey: directions, joiners, byte order marks. */
static const uint32_t formats[][2] = {
    {0x00AD, 0x00AD}, {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
};

static bool within(uint32_t code, const uint32_t (*ranges)[2], size_t n)
{
    for (size_t r = 0; r < n; r++) {
        if (code >= ranges[r][0] && code <= ranges[r][1])
            return true;
    }
    return false;
}

size_t view_character(const char *text, size_t *columns)
{
    uint32_t code;
    const size_t length = tg_utf8_decode(&code, text, strlen(text));

    *columns = length > 0 ? tg_utf8_columns(code) : 1;
    return tg_size_max(length, 1);
}

void view_field(view_out *out, const char *text, size_t columns, const char *more)
{
    const bool cut = tg_utf8_width(text) > columns;
    const size_t limit = columns - (cut && columns > 0);
    size_t used = 0, next;

    while (*text != '\0') {
        const size_t length = view_character(text, &next);

        if (used + next > limit)
            break;
        view_put(out, text, length);
        text += length;
        used += next;
    }
    if (cut && columns > 0) {
        view_put(out, more, strlen(more));
        used++;
    }
    for (; used < columns; used++)
        view_put(out, " ", 1);
}

void view_escape(char *out, size_t size, const char *text, bool ascii)
{
    size_t used = 0;

    while (*text != '\0') {
        char piece[16];
        uint32_t code;
        const size_t length = tg_size_max(tg_utf8_decode(&code, text, strlen(text)), 1);
        const bool escape =
            length > 1 && (ascii || within(code, formats, sizeof formats / sizeof formats[0]));
        const int n = escape ? snprintf(piece, sizeof piece, "\\u%04X", (unsigned)code)
                             : snprintf(piece, sizeof piece, "%.*s", (int)length, text);

        if (used + (size_t)n >= size)
            break;
        memcpy(out + used, piece, (size_t)n);
        used += (size_t)n;
        text += length;
    }
    out[used] = '\0';
}
