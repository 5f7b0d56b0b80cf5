/* cli: numbers, sizes and text, formatted for messages. */
#include "cmd/cli/cli.h"

#include <math.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/utf8.h"
#include "lib/view/label.h"

#define RING 8
#define WORD_SIZE 32

static char *ring_next(void)
{
    static char ring[RING][WORD_SIZE];
    static unsigned at;

    return ring[at++ % RING];
}

const char *cli_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

const char *cli_count(uint64_t n)
{
    char digits[24];
    char *out = ring_next();
    size_t used = 0;
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
    char *out = ring_next();
    size_t i = 0;

    /* 1023.95 would be shown as 1024.0 */
    while (x >= (i == 0 ? 1024 : 1023.95) && i < 6) {
        x /= 1024;
        i++;
    }
    snprintf(out, WORD_SIZE, i == 0 ? "%.0f %s" : "%.1f %s", x, unit[i]);
    return out;
}

const char *cli_duration(double seconds)
{
    char *out = ring_next();
    unsigned long s;

    if (!(seconds >= 0 && seconds < 1e9))
        return "?";
    s = (unsigned long)(seconds + 0.5);
    if (seconds < 9.95)
        snprintf(out, WORD_SIZE, "%.1fs", seconds);
    else if (s < 60)
        snprintf(out, WORD_SIZE, "%lus", s);
    else if (s < 3600)
        snprintf(out, WORD_SIZE, "%lum%02lus", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, WORD_SIZE, "%luh%02lum", s / 3600, s % 3600 / 60);
    else
        snprintf(out, WORD_SIZE, "%lud%02luh", s / 86400, s % 86400 / 3600);
    return out;
}

#define SHOWN_SIZE 12 /* bytes of a shown character, with NUL */

/* Show the first character of text [n], n >= 1; *taken: its bytes in text.  Returns those shown.
 * hidden: also show characters without a sign. */
static size_t show_character(char shown[SHOWN_SIZE], const unsigned char *text, size_t n, size_t *taken,
                             bool hidden)
{
    uint32_t code;

    *taken = tg_utf8_printable(&code, text, n);
    if (*taken > 0 && hidden && tg_label_hides(code))
        return (size_t)snprintf(shown, SHOWN_SIZE, code <= 0xFFFF ? "\\u%04X" : "\\U%08X", (unsigned)code);
    if (*taken > 0) {
        memcpy(shown, text, *taken);
        return *taken;
    }
    *taken = 1;
    if (*text == '\n' || *text == '\t')
        return (size_t)snprintf(shown, SHOWN_SIZE, *text == '\n' ? "\\n" : "\\t");
    return (size_t)snprintf(shown, SHOWN_SIZE, "\\x%02X", *text);
}

void cli_escape(char *out, size_t size, const unsigned char *text, size_t n)
{
    size_t used = 0, taken;

    for (; n > 0; text += taken, n -= taken) {
        char shown[SHOWN_SIZE];
        const size_t length = show_character(shown, text, n, &taken, true);

        if (used + length >= size)
            break;
        memcpy(out + used, shown, length);
        used += length;
    }
    if (size > 0)
        out[used] = '\0';
}

void cli_put_field(const char *text)
{
    char field[4];

    for (; *text != '\0'; text++)
        fwrite(field, 1, tg_label_field(field, text, 1), stdout);
}

/* What stands for the character at `text` in XML, and in *n its bytes; NULL: it stands for itself.  A label
 * has no control characters; of all others XML lacks two, for which U+FFFD stands. */
static const char *xml_escape(const char *text, size_t *n)
{
    static const char *const escapes[][2] = {
        {"<", "&lt;"},    {">", "&gt;"},        {"&", "&amp;"},
        {"\"", "&quot;"}, {"\uFFFE", "\uFFFD"}, {"\uFFFF", "\uFFFD"},
    };

    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        *n = strlen(escapes[i][0]);
        if (strncmp(text, escapes[i][0], *n) == 0)
            return escapes[i][1];
    }
    *n = 1;
    return NULL;
}

void cli_put_xml(tg_sink *sink, const char *label)
{
    for (size_t n; *label != '\0'; label += n) {
        const char *escaped = xml_escape(label, &n);

        tg_sink_put(sink, escaped ? escaped : label, escaped ? strlen(escaped) : 1);
    }
}

void cli_put_json(const char *text)
{
    char escaped[TG_JSON_ESCAPE_MAX + 1];

    putchar('"');
    for (; *text != '\0'; text++)
        fwrite(escaped, 1, tg_json_escape(escaped, (unsigned char)*text, ""), stdout);
    putchar('"');
}

void cli_put_json_number(double x)
{
    if (isfinite(x))
        printf("%.9g", x);
    else
        fputs("null", stdout);
}

size_t cli_show_end(cli_shown *s, char out[CLI_SHOWN_MAX])
{
    size_t used = 0, taken;

    for (size_t i = 0; i < s->n; i += taken) {
        char shown[SHOWN_SIZE];
        const size_t length = show_character(shown, s->character + i, s->n - i, &taken, false);

        memcpy(out + used, shown, length);
        used += length;
    }
    s->n = 0;
    return used;
}

size_t cli_show_byte(cli_shown *s, char out[CLI_SHOWN_MAX], unsigned char byte)
{
    size_t used = tg_utf8_continues(byte) ? 0 : cli_show_end(s, out);

    if (byte == '\n' || byte == '\t') {
        out[used++] = (char)byte;
        return used;
    }
    s->character[s->n++] = byte;
    if (!tg_utf8_is_cut(s->character, s->n))
        used += cli_show_end(s, out + used);
    return used;
}
