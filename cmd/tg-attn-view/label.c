/* view: tokens as text: their width, and characters that must be escaped. */
#include "cmd/tg-attn-view/view.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"

/* Characters of two columns and of none in a terminal: the large blocks of East Asian wide characters
 * and symbols, and of combining marks (Unicode 15). */
static const uint32_t wide[][2] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};
static const uint32_t none[][2] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

/* Invisible characters that a terminal or a browser obeys: directions, joiners, byte order marks. */
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

/* The code point of `length` bytes of valid UTF-8. */
static uint32_t decode(const char *text, size_t length)
{
    uint32_t code = (unsigned char)text[0];

    if (length > 1)
        code &= 0xFFu >> (length + 1);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3Fu);
    return code;
}

size_t view_character(const char *text, size_t *columns)
{
    const size_t length = tg_size_min(cli_character((unsigned char)*text), strlen(text));
    const uint32_t code = decode(text, length);

    *columns = 1;
    if (within(code, wide, sizeof wide / sizeof wide[0]))
        *columns = 2;
    else if (within(code, none, sizeof none / sizeof none[0]))
        *columns = 0;
    return length;
}

size_t view_columns(const char *text)
{
    size_t all = 0, columns;

    while (*text != '\0') {
        text += view_character(text, &columns);
        all += columns;
    }
    return all;
}

void view_field(view_out *out, const char *text, size_t columns, const char *more)
{
    const bool cut = view_columns(text) > columns;
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
        const size_t length = tg_size_min(cli_character((unsigned char)*text), strlen(text));
        const uint32_t code = decode(text, length);
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
