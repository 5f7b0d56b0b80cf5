#include "lib/view/label.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"

#define MARKS_MAX 4 /* marks on a character; each one more may reach into other lines */

static bool within(uint32_t code, const tg_label_range *ranges, size_t n)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (code > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && code >= ranges[low].first;
}

unsigned tg_label_columns(uint32_t code)
{
    if (code < tg_label_marks[0].first)
        return 1;
    if (within(code, tg_label_marks, tg_label_marks_n))
        return 0;
    return within(code, tg_label_wide, tg_label_wide_n) ? 2 : 1;
}

/* ---- making every character visible */

bool tg_label_hides(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || within(code, tg_label_hidden, tg_label_hidden_n);
}

static bool is_skin_color(uint32_t code)
{
    return code >= 0x1F3FB && code <= 0x1F3FF;
}

/* The bytes of an escape at the start of text [n]; 0: none is there. */
static size_t escape_length(const char *text, size_t n)
{
    static const char kinds[] = "\\ntxuU";
    static const unsigned char digits[] = {0, 0, 0, 2, 4, 8};
    const char *kind = n >= 2 && *text == '\\' ? memchr(kinds, text[1], sizeof kinds - 1) : NULL;
    const size_t wanted = kind ? digits[kind - kinds] : 0;

    if (!kind || n < 2 + wanted)
        return 0;
    for (size_t d = 2; d < 2 + wanted; d++) {
        if (!memchr("0123456789ABCDEFabcdef", text[d], 22))
            return 0;
    }
    return 2 + wanted;
}

/* What can carry a mark, and how many it has. */
struct base {
    bool character; /* the last part was a character, not an escape */
    unsigned marks;
};

/* Whether this character, at least 0x80, is shown as itself after what is already there. */
static bool keeps(struct base *base, uint32_t code)
{
    const bool mark = tg_label_columns(code) == 0;

    if (tg_label_hides(code) || (mark && (!base->character || base->marks == MARKS_MAX)) ||
        (is_skin_color(code) && base->character))
        return false;
    *base = (struct base){true, mark ? base->marks + 1 : 0};
    return true;
}

/* Show a character as itself, if it can be there, or as an escape. */
static size_t show_code(char shown[TG_LABEL_ESCAPE], struct base *base, uint32_t code, const char *text,
                        size_t length, bool ascii)
{
    if (code < 0x80) {
        *base = (struct base){true, 0};
    } else if (ascii || !keeps(base, code)) {
        base->character = false;
        return (size_t)snprintf(shown, TG_LABEL_ESCAPE, code <= 0xFFFF ? "\\u%04X" : "\\U%08X",
                                (unsigned)code);
    }
    memcpy(shown, text, length);
    return length;
}

/* Show the first character or escape of text [n], n >= 1, in `shown`; *taken: its bytes in text. */
static size_t show_part(char shown[TG_LABEL_ESCAPE], struct base *base, const char *text, size_t n,
                        size_t *taken, bool ascii)
{
    uint32_t code = 0;
    const size_t escape = escape_length(text, n), length = tg_utf8_decode(&code, text, n);

    *taken = tg_size_max(tg_size_max(escape, length), 1);
    if (escape == 0 && (length > 1 || (length == 1 && !tg_label_hides(code))))
        return show_code(shown, base, code, text, length, ascii);
    base->character = false;
    if (escape == 0)
        return (size_t)snprintf(shown, TG_LABEL_ESCAPE, "\\x%02X", (unsigned char)*text);
    memcpy(shown, text, escape);
    return escape;
}

/* Show the first character of a token's text [n], n >= 1, likewise. */
static size_t show_character(char shown[TG_LABEL_ESCAPE], struct base *base, const char *text, size_t n,
                             size_t *taken, bool doubled)
{
    uint32_t code;
    const size_t length = tg_utf8_printable(&code, text, n);

    *taken = tg_size_max(length, 1);
    if (length > 0 && !(doubled && code == '\\'))
        return show_code(shown, base, code, text, length, false);
    base->character = false;
    if (length > 0 || *text == '\n' || *text == '\t')
        return (size_t)snprintf(shown, TG_LABEL_ESCAPE, "\\%c",
                                length > 0      ? '\\'
                                : *text == '\n' ? 'n'
                                                : 't');
    return (size_t)snprintf(shown, TG_LABEL_ESCAPE, "\\x%02X", (unsigned char)*text);
}

/* A label that is being written: out [size], of which `used` bytes are; it has `all` bytes in all. */
struct label {
    char *out;
    size_t size, used, all;
};

/* Append a part, unless it or one before it does not fit. */
static void put(struct label *label, const char *part, size_t n)
{
    if (label->used == label->all && label->used + n < label->size) {
        memcpy(label->out + label->used, part, n);
        label->used += n;
    }
    label->all += n;
}

enum form { LABEL, ASCII, TOKEN };

static size_t show(char *out, size_t size, const char *text, size_t n, enum form form)
{
    const bool doubled = n > 1;
    struct label label = {out, size, 0, 0};
    struct base base = {false, 0};
    char shown[TG_LABEL_ESCAPE];

    for (size_t taken; n > 0; text += taken, n -= taken)
        put(&label, shown,
            form == TOKEN ? show_character(shown, &base, text, n, &taken, doubled)
                          : show_part(shown, &base, text, n, &taken, form == ASCII));
    if (size > 0)
        out[label.used] = '\0';
    return label.all;
}

size_t tg_label_show(char *out, size_t size, const char *text, size_t n)
{
    return show(out, size, text, n, LABEL);
}

size_t tg_label_show_ascii(char *out, size_t size, const char *text, size_t n)
{
    return show(out, size, text, n, ASCII);
}

size_t tg_label_show_token(char *out, size_t size, const unsigned char *text, size_t n)
{
    return show(out, size, (const char *)text, n, TOKEN);
}

/* ---- and back */

static uint32_t hex_number(const char *digits, size_t n)
{
    uint32_t number = 0;

    for (size_t d = 0; d < n; d++) {
        const unsigned c = (unsigned char)digits[d];

        number = number << 4 | (c <= '9' ? c - (unsigned)'0' : (c | 0x20u) - 'a' + 10);
    }
    return number;
}

/* Write what an escape [n] stands for; returns its bytes. */
static size_t put_meaning(unsigned char *out, const char *escape, size_t n)
{
    const uint32_t number = hex_number(escape + 2, n - 2);

    switch (escape[1]) {
    case 'n':
    case 't':
        *out = escape[1] == 'n' ? '\n' : '\t';
        return 1;
    case 'x':
        *out = (unsigned char)number;
        return 1;
    case '\\':
        *out = '\\';
        return 1;
    default:
        if (number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF))
            return tg_utf8_encode((char *)out, number);
        memcpy(out, escape, n);
        return n;
    }
}

size_t tg_label_bytes(unsigned char *out, const char *text, size_t n)
{
    size_t used = 0;

    for (size_t at = 0, length; at < n; at += length) {
        length = escape_length(text + at, n - at);
        if (length > 0) {
            used += put_meaning(out + used, text + at, length);
        } else {
            length = 1;
            out[used++] = (unsigned char)text[at];
        }
    }
    return used;
}

/* ---- tab-separated text */

size_t tg_label_field(char *out, const char *text, size_t n)
{
    static const char quote[] = "\\x22";
    const size_t more = sizeof quote - 2;
    size_t size = n, at;

    for (size_t i = 0; i < n; i++)
        size += text[i] == '"' ? more : 0;
    at = size;
    while (n-- > 0) { /* from the end: nothing is overwritten before it is read */
        if (text[n] == '"')
            memcpy(out + (at -= more + 1), quote, more + 1);
        else
            out[--at] = text[n];
    }
    return size;
}

/* ---- columns */

/* The first character of a label [n] with its marks; in *columns its columns. */
static size_t next_letter(const char *label, size_t n, size_t *columns)
{
    size_t length, next;
    uint32_t code;

    *columns = 0;
    if (n == 0)
        return 0;
    length = tg_utf8_decode(&code, label, n);
    *columns = length > 0 ? tg_label_columns(code) : 1;
    for (length = tg_size_max(length, 1); (next = tg_utf8_decode(&code, label + length, n - length)) > 1;
         length += next) {
        if (tg_label_columns(code) > 0)
            break;
    }
    return length;
}

/* The same, or an escape. */
static size_t next_part(const char *label, size_t n, size_t *columns)
{
    const size_t escape = escape_length(label, n);

    *columns = escape;
    return escape > 0 ? escape : next_letter(label, n, columns);
}

size_t tg_label_next_letter(const char *label, size_t *columns)
{
    return next_letter(label, strlen(label), columns);
}

size_t tg_label_next(const char *label, size_t *columns)
{
    return next_part(label, strlen(label), columns);
}

/* The bytes of the longest beginning of a label that takes at most `columns` and `size` bytes. */
static size_t fit(const char *label, size_t columns, size_t size, size_t *used)
{
    const size_t n = strlen(label);
    size_t bytes = 0, next, length;

    for (*used = 0; (length = next_part(label + bytes, n - bytes, &next)) > 0; bytes += length) {
        if (*used + next > columns || bytes + length > size)
            break;
        *used += next;
    }
    return bytes;
}

size_t tg_label_fit(const char *label, size_t columns, size_t *used)
{
    return fit(label, columns, SIZE_MAX, used);
}

size_t tg_label_width(const char *label)
{
    size_t used;

    (void)tg_label_fit(label, SIZE_MAX, &used);
    return used;
}

void tg_label_copy(char *out, size_t size, size_t columns, const char *label)
{
    size_t used, bytes = fit(label, columns, size - 1, &used);
    const bool cut = label[bytes] != '\0';

    if (cut)
        bytes = fit(label, columns - 1, size - sizeof TG_LABEL_CUT, &used);
    memcpy(out, label, bytes);
    strcpy(out + bytes, cut ? TG_LABEL_CUT : "");
}
