/* cli: numbers, sizes and text as messages show them. */
#include "cmd/cli/cli.h"

#include <string.h>

#define RING 8

/* The next of RING buffers. */
static char *ring_next(size_t *size)
{
    static char ring[RING][32];
    static unsigned at;

    *size = sizeof ring[0];
    return ring[at++ % RING];
}

const char *cli_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

const char *cli_count(uint64_t n)
{
    char digits[24];
    size_t size, used = 0;
    char *out = ring_next(&size);
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *cli_bytes(uint64_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double x = (double)bytes;
    size_t size, i = 0;
    char *out = ring_next(&size);

    /* 1023.95 would be shown as 1024.0 */
    while (x >= (i == 0 ? 1024 : 1023.95) && i < 6) {
        x /= 1024;
        i++;
    }
    snprintf(out, size, i == 0 ? "%.0f %s" : "%.1f %s", x, unit[i]);
    return out;
}

const char *cli_duration(double seconds)
{
    size_t size;
    char *out = ring_next(&size);
    unsigned long s;

    if (!(seconds >= 0 && seconds < 1e9)) {
        snprintf(out, size, "?");
        return out;
    }
    s = (unsigned long)(seconds + 0.5);
    if (seconds < 9.95)
        snprintf(out, size, "%.1fs", seconds);
    else if (s < 60)
        snprintf(out, size, "%lus", s);
    else if (s < 3600)
        snprintf(out, size, "%lum%02lus", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, size, "%luh%02lum", s / 3600, s % 3600 / 60);
    else
        snprintf(out, size, "%lud%02luh", s / 86400, s % 86400 / 3600);
    return out;
}

size_t cli_character(unsigned char first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
}

/* Length of the printable UTF-8 character at the beginning of text [n]; 0: none is there. */
static size_t printable(const unsigned char *text, size_t n)
{
    static const uint32_t least[] = {0, 0, 0xA0, 0x800, 0x10000}; /* C1 controls begin at U+0080 */
    const unsigned char c = text[0];
    const size_t length = cli_character(c);
    uint32_t code = c;

    if (length == 1)
        return c >= 0x20 && c < 0x7F;
    if (length > n)
        return 0;
    code &= 0xFFu >> (length + 1);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    return length;
}

void cli_escape(char *out, size_t size, const unsigned char *text, size_t n)
{
    size_t used = 0;

    while (n > 0) {
        char piece[8];
        size_t take = printable(text, n), length;

        if (take > 0) {
            memcpy(piece, text, take);
            length = take;
        } else {
            take = 1;
            if (*text == '\n' || *text == '\t')
                length = (size_t)snprintf(piece, sizeof piece, *text == '\n' ? "\\n" : "\\t");
            else
                length = (size_t)snprintf(piece, sizeof piece, "\\x%02X", *text);
        }
        if (used + length >= size)
            break;
        memcpy(out + used, piece, length);
        used += length;
        text += take;
        n -= take;
    }
    if (size > 0)
        out[used] = '\0';
}
