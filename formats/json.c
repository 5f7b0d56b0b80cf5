#include "formats/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* ---- failures */

/* Write the place of a byte: "line 3, column 14 (byte 120)". */
static void name_place(char *out, size_t size, const tg_json *j, size_t at)
{
    size_t line = j->line, column = 1;

    for (size_t i = 0; i < at; i++) {
        if (j->text[i] == '\n')
            line++, column = 1;
        else
            column += !tg_utf8_continues(j->text[i]);
    }
    snprintf(out, size, "line %zu, column %zu (byte %zu)", line, column, at);
}

tg_status tg_json_err_in(tg_json *j)
{
    char place[96];

    name_place(place, sizeof place, j, j->value);
    return j->status = tg_err_in(j->err, place);
}

TG_PRINTF(3, 0) static tg_status fail(tg_json *j, const char *member, const char *format, va_list arguments)
{
    char message[TG_ERR_MAX];
    const char *const quote = member ? "\"" : "";

    if (j->status)
        return j->status;
    vsnprintf(message, sizeof message, format, arguments);
    (void)tg_fail(j->err, TG_EDATA, "%s%s%s%s%s", quote, member ? member : "", quote, member ? ": " : "",
                  message);
    return tg_json_err_in(j);
}

tg_status tg_json_fail(tg_json *j, const char *format, ...)
{
    va_list arguments;
    tg_status status;

    va_start(arguments, format);
    status = fail(j, NULL, format, arguments);
    va_end(arguments);
    return status;
}

/* Fail: the value has not the type that is asked for.  The message names its member. */
TG_PRINTF(2, 3) static void wrong_type(tg_json *j, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fail(j, j->member, format, arguments);
    va_end(arguments);
}

/* Fail: the text at an offset is not what is expected there.  Returns false. */
static bool unexpected(tg_json *j, size_t at, const char *expected)
{
    char got[32] = "the text ends";

    j->value = at;
    if (at < j->n && j->text[at] > ' ' && j->text[at] < 0x7F)
        snprintf(got, sizeof got, "got '%c'", j->text[at]);
    else if (at < j->n)
        snprintf(got, sizeof got, "got byte 0x%02X", j->text[at]);
    (void)tg_json_fail(j, "expected %s, %s", expected, got);
    return false;
}

/* ---- what values are made of */

static void pass_space(tg_json *j)
{
    while (j->at < j->n && (j->text[j->at] == ' ' || j->text[j->at] == '\n' || j->text[j->at] == '\r' ||
                            j->text[j->at] == '\t'))
        j->at++;
}

/* The next byte after white space; 0 at the end, where a NUL would not be allowed either. */
static unsigned char next_byte(tg_json *j)
{
    pass_space(j);
    return j->at < j->n ? j->text[j->at] : 0;
}

/* The value of the four bytes at an offset, hexadecimal digits; UINT32_MAX if they are none. */
static uint32_t read_hex4(const tg_json *j, size_t at)
{
    uint32_t code = 0;

    for (size_t i = at; i < at + 4; i++) {
        const unsigned char digit = j->text[i], letter = digit | 0x20;

        if (digit >= '0' && digit <= '9')
            code = code << 4 | (uint32_t)(digit - '0');
        else if (letter >= 'a' && letter <= 'f')
            code = code << 4 | (uint32_t)(letter - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return code;
}

/* Read \uXXXX, or a pair of them, after the backslash at *at.  False: it is not one. */
static bool read_unicode(const tg_json *j, size_t *at, uint32_t *code)
{
    uint32_t low;

    *code = read_hex4(j, *at + 2);
    if (*code == UINT32_MAX || (*code >= 0xDC00 && *code <= 0xDFFF))
        return false;
    *at += 6;
    if (*code < 0xD800 || *code > 0xDFFF)
        return true;
    if (j->n - *at < 6 || j->text[*at] != '\\' || j->text[*at + 1] != 'u')
        return false;
    low = read_hex4(j, *at + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return false;
    *code = 0x10000 + ((*code - 0xD800) << 10 | (low - 0xDC00));
    *at += 6;
    return true;
}

/* Read the escape at *at, a backslash that is not the last byte, and advance *at. */
static bool read_escape(const tg_json *j, size_t *at, uint32_t *code)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name;

    if (j->text[*at + 1] == 'u')
        return j->n - *at >= 6 && read_unicode(j, at, code);
    if (j->text[*at + 1] == '\0' || !(name = strchr(names, j->text[*at + 1])))
        return false;
    *code = (uint32_t)values[name - names];
    *at += 2;
    return true;
}

/* Skip the string that must begin at j->at; *n = the bytes between its quotes.  False: it is wrong. */
static bool pass_string(tg_json *j, size_t *n, bool *escaped)
{
    size_t at = j->at + 1;
    uint32_t code;

    j->value = j->at;
    *escaped = false;
    while (at < j->n && j->text[at] != '"') {
        const unsigned char byte = j->text[at];

        if (byte < 0x20)
            return unexpected(j, at, "no control characters in a string");
        if (byte == '\\') {
            const size_t begin = at;

            *escaped = true;
            if (j->n - at < 2 || !read_escape(j, &at, &code))
                return unexpected(
                    j, begin, "\\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t, \\uXXXX or a pair of surrogates");
        } else {
            const size_t length = byte < 0x80 ? 1 : tg_utf8_decode(&code, j->text + at, j->n - at);

            if (length == 0)
                return unexpected(j, at, "UTF-8");
            at += length;
        }
    }
    if (at == j->n)
        return unexpected(j, at, "the string's closing quote");
    *n = at - j->at - 1;
    j->at = at + 1;
    return true;
}

/* Decode the n bytes between the quotes of a string that has been passed. */
static tg_span decode(tg_json *j, size_t at, size_t n)
{
    const size_t end = at + n;
    size_t out = 0;
    uint32_t code;

    /* no string becomes longer */
    if ((j->status = tg_grow(&j->decoded, &j->capacity, n, 1, "a string", j->err)))
        return (tg_span){"", 0};
    while (at < end) {
        /* unreached: an escape that cannot be read: pass_string() has read it */
        if (j->text[at] == '\\' && read_escape(j, &at, &code))
            out += tg_utf8_encode((char *)j->decoded + out, code);
        else
            j->decoded[out++] = j->text[at++];
    }
    return (tg_span){(const char *)j->decoded, out};
}

static tg_span read_string(tg_json *j)
{
    const size_t begin = j->at + 1;
    bool escaped;
    size_t n;

    if (!pass_string(j, &n, &escaped))
        return (tg_span){"", 0};
    return escaped ? decode(j, begin, n) : (tg_span){(const char *)j->text + begin, n};
}

static bool is_digit(const tg_json *j, size_t at)
{
    return at < j->n && j->text[at] >= '0' && j->text[at] <= '9';
}

static size_t pass_digits(const tg_json *j, size_t at)
{
    while (is_digit(j, at))
        at++;
    return at;
}

/* Skip the number at j->at.  Returns whether it has neither fraction nor exponent. */
static bool pass_number(tg_json *j)
{
    size_t at = j->at;
    bool integer = true;

    j->value = at;
    /* unreached: the end of the text: the first byte has been seen */
    at += at < j->n && j->text[at] == '-';
    if (!is_digit(j, at))
        return unexpected(j, at, "a digit");
    at = j->text[at] == '0' ? at + 1 : pass_digits(j, at);
    if (at < j->n && j->text[at] == '.') {
        integer = false;
        if (!is_digit(j, ++at))
            return unexpected(j, at, "a digit");
        at = pass_digits(j, at);
    }
    if (at < j->n && (j->text[at] | 0x20) == 'e') {
        integer = false;
        at++;
        at += at < j->n && (j->text[at] == '+' || j->text[at] == '-');
        if (!is_digit(j, at))
            return unexpected(j, at, "a digit");
        at = pass_digits(j, at);
    }
    j->at = at;
    return integer;
}

static void pass_word(tg_json *j, const char *word)
{
    const size_t n = strlen(word);

    j->value = j->at;
    if (j->n - j->at < n || memcmp(j->text + j->at, word, n) != 0)
        unexpected(j, j->at, "a value");
    else
        j->at += n;
}

/* ---- the reader */

void tg_json_open(tg_json *j, const void *text, size_t n, tg_err *err)
{
    *j = (tg_json){.text = text, .n = n, .line = 1, .err = err};
}

tg_status tg_json_close(tg_json *j)
{
    const tg_status status = j->status;

    free(j->decoded);
    *j = (tg_json){0};
    return status;
}

size_t tg_json_go(tg_json *j, size_t at)
{
    const size_t was = j->at;

    j->at = at;
    j->member = NULL;
    return was;
}

tg_json_kind tg_json_peek(tg_json *j)
{
    static const char firsts[] = "ntf\"[{", kinds[] = {TG_JSON_NULL,   TG_JSON_BOOL,  TG_JSON_BOOL,
                                                       TG_JSON_STRING, TG_JSON_ARRAY, TG_JSON_OBJECT};
    const unsigned char byte = next_byte(j);
    const char *first = byte ? strchr(firsts, byte) : NULL;

    if (j->status)
        return TG_JSON_NULL;
    j->value = j->at;
    if (first)
        return (tg_json_kind)kinds[first - firsts];
    if (byte == '-' || (byte >= '0' && byte <= '9'))
        return TG_JSON_NUMBER;
    unexpected(j, j->at, "a value");
    return TG_JSON_NULL;
}

/* Whether the next value is of this kind. */
static bool expect(tg_json *j, tg_json_kind want)
{
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "an array",      "an object"};
    const tg_json_kind got = tg_json_peek(j);

    if (got != want)
        wrong_type(j, "expected %s, got %s", names[want], names[got]);
    return !j->status;
}

void tg_json_enter(tg_json *j, tg_json_kind kind)
{
    assert(kind == TG_JSON_ARRAY || kind == TG_JSON_OBJECT);
    if (!expect(j, kind))
        return;
    if (j->depth == TG_JSON_DEPTH) {
        (void)tg_json_fail(j, "more than %d nested arrays and objects", TG_JSON_DEPTH);
        return;
    }
    j->at++;
    j->depth++;
    j->first = true;
}

/* After a value: false, and the array or object is left, if it ends here; otherwise pass the comma. */
static bool pass_comma(tg_json *j, unsigned char closing)
{
    const unsigned char byte = next_byte(j);
    const bool first = j->first;

    if (j->status)
        return false;
    assert(j->depth > 0);
    j->first = false;
    if (byte == closing) {
        j->at++;
        j->depth--;
        return false;
    }
    if (!first && byte != ',')
        return unexpected(j, j->at, closing == '}' ? "',' or '}'" : "',' or ']'");
    j->at += !first;
    return true;
}

bool tg_json_key(tg_json *j, tg_span *key)
{
    bool escaped;
    size_t n;

    if (!pass_comma(j, '}'))
        return false;
    if (next_byte(j) != '"')
        return unexpected(j, j->at, "a key in quotes");
    if (key)
        *key = read_string(j);
    else
        pass_string(j, &n, &escaped);
    if (j->status)
        return false;
    if (next_byte(j) != ':')
        return unexpected(j, j->at, "':' after the key");
    j->at++;
    return true;
}

bool tg_json_element(tg_json *j)
{
    return pass_comma(j, ']');
}

tg_span tg_json_get_text(tg_json *j)
{
    return expect(j, TG_JSON_STRING) ? read_string(j) : (tg_span){"", 0};
}

size_t tg_json_get_size(tg_json *j)
{
    size_t size = 0;
    bool fits = expect(j, TG_JSON_NUMBER) && pass_number(j);

    for (size_t at = j->value; fits && at < j->at; at++)
        fits = j->text[at] != '-' && tg_size_mul(&size, size, 10) &&
               tg_size_add(&size, size, (size_t)(j->text[at] - '0'));
    if (!fits)
        wrong_type(j, "expected an integer from 0 to %zu, got %.*s", SIZE_MAX,
                   (int)tg_size_min(j->at - j->value, 40), (const char *)j->text + j->value);
    return fits ? size : 0;
}

double tg_json_get_number(tg_json *j)
{
    char text[TG_DECIMAL_READ + 1];
    const char *end;
    double number;
    size_t n;

    if (expect(j, TG_JSON_NUMBER))
        pass_number(j);
    n = j->at - j->value;
    if (n >= sizeof text)
        wrong_type(j, "a number of %zu characters, expected at most %zu", n, sizeof text - 1);
    if (j->status)
        return 0;
    memcpy(text, j->text + j->value, n);
    text[n] = '\0';
    number = tg_decimal_read(text, &end);
    if (!isfinite(number))
        wrong_type(j, "%s is beyond the range of a double", text);
    return isfinite(number) ? number : 0;
}

bool tg_json_get_bool(tg_json *j)
{
    const bool value = expect(j, TG_JSON_BOOL) && j->text[j->at] == 't';

    if (!j->status)
        pass_word(j, value ? "true" : "false");
    return value;
}

/* Pass a value, or enter it. */
static void pass_or_enter(tg_json *j, tg_json_kind kind)
{
    bool unused;
    size_t n;

    switch (kind) {
    case TG_JSON_NULL:
        pass_word(j, "null");
        break;
    case TG_JSON_BOOL:
        (void)tg_json_get_bool(j);
        break;
    case TG_JSON_NUMBER:
        pass_number(j);
        break;
    case TG_JSON_STRING:
        pass_string(j, &n, &unused);
        break;
    default:
        tg_json_enter(j, kind);
    }
}

void tg_json_skip(tg_json *j)
{
    const size_t depth = j->depth;
    bool object[TG_JSON_DEPTH + 1] = {false}, more;

    do {
        const tg_json_kind kind = tg_json_peek(j);

        if (!j->status)
            pass_or_enter(j, kind);
        if (kind == TG_JSON_ARRAY || kind == TG_JSON_OBJECT)
            object[j->depth] = kind == TG_JSON_OBJECT;
        for (more = false; j->depth > depth && !more && !j->status;)
            more = object[j->depth] ? tg_json_key(j, NULL) : tg_json_element(j);
    } while (j->depth > depth && !j->status);
}

bool tg_json_element_at(tg_json *j, size_t *at)
{
    if (!tg_json_element(j))
        return false;
    (void)tg_json_peek(j); /* white space */
    *at = j->at;
    tg_json_skip(j);
    return !j->status;
}

void tg_json_end(tg_json *j)
{
    assert(j->status || j->depth == 0);
    pass_space(j);
    if (!j->status && j->at < j->n)
        unexpected(j, j->at, "the end of the text");
}

void tg_json_members(tg_json *j, const char *const *names, size_t n, size_t *at)
{
    tg_span key;

    memset(at, 0, n * sizeof *at);
    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &key)) {
        const tg_json_kind kind = tg_json_peek(j);
        size_t i = 0;

        while (i < n && !tg_span_is(key, names[i]))
            i++;
        if (i < n && at[i] > 0)
            (void)tg_json_fail(j, "\"%s\" occurs twice", names[i]);
        if (i < n && kind != TG_JSON_NULL)
            at[i] = j->at;
        tg_json_skip(j);
    }
}

bool tg_json_find(tg_json *j, size_t object, const char *name)
{
    size_t at;

    (void)tg_json_go(j, object);
    tg_json_members(j, &name, 1, &at);
    (void)tg_json_go(j, at);
    j->member = at > 0 ? name : NULL;
    return at > 0;
}

bool tg_json_find_kind(tg_json *j, size_t object, const char *name, tg_json_kind kind)
{
    return tg_json_find(j, object, name) && tg_json_peek(j) == kind;
}

size_t tg_json_find_objects(tg_json *j, size_t object, const char *name, size_t *at, size_t max)
{
    size_t n = 0, next;

    if (!tg_json_find_kind(j, object, name, TG_JSON_ARRAY))
        return 0;
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &next))
        if (j->text[next] == '{' && n < max)
            at[n++] = next;
    return n;
}

bool tg_json_has(tg_json *j, size_t object, const char *name)
{
    bool found = false;
    tg_span key;

    (void)tg_json_go(j, object);
    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &key)) {
        found = found || tg_span_is(key, name);
        tg_json_skip(j);
    }
    return found;
}

/* ---- writing */

size_t tg_json_escape(char out[TG_JSON_ESCAPE_MAX + 1], unsigned char byte, const char *also)
{
    if (byte < 0x20 || strchr(also, byte))
        return (size_t)snprintf(out, TG_JSON_ESCAPE_MAX + 1, "\\u%04x", byte);
    out[0] = '\\';
    out[byte == '"' || byte == '\\'] = (char)byte;
    return byte == '"' || byte == '\\' ? 2 : 1;
}

void tg_json_put(tg_sink *sink, const void *text, size_t n)
{
    const unsigned char *p = text;
    char escaped[TG_JSON_ESCAPE_MAX + 1];

    for (size_t i = 0; i < n; i++)
        tg_sink_put(sink, escaped, tg_json_escape(escaped, p[i], ""));
}
