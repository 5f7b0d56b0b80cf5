#include "formats/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* ---- failures */

/* Write the place of a byte: "line 3, column 14 (byte 120)". */
static void name_place(char *out, size_t size, const tg_json *j, size_t at)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        if (j->text[i] == '\n')
            line++, column = 1;
        else
            column += !tg_utf8_continues(j->text[i]);
    }
    snprintf(out, size, "line %zu, column %zu (byte %zu)", line, column, at);
}

tg_status tg_json_err_in(const tg_json *j, tg_err *err)
{
    char place[96];

    name_place(place, sizeof place, j, j->value);
    return tg_err_in(err, place);
}

tg_status tg_json_fail(const tg_json *j, tg_err *err, const char *format, ...)
{
    char message[TG_ERR_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)tg_fail(err, TG_EDATA, "%s", message);
    (void)tg_json_err_in(j, err);
    return TG_EDATA;
}

/* Fail: the text at an offset is not what is expected there. */
static tg_status unexpected(tg_json *j, size_t at, const char *expected, tg_err *err)
{
    char got[32] = "the text ends";

    j->value = at;
    if (at < j->n && j->text[at] > ' ' && j->text[at] < 0x7F)
        snprintf(got, sizeof got, "got '%c'", j->text[at]);
    else if (at < j->n)
        snprintf(got, sizeof got, "got byte 0x%02X", j->text[at]);
    return tg_json_fail(j, err, "expected %s, %s", expected, got);
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

/* The value of four hexadecimal digits at an offset; UINT32_MAX if they are not digits. */
static uint32_t read_hex4(const tg_json *j, size_t at)
{
    uint32_t code = 0;

    /* unreached: both callers have checked it */
    if (j->n - at < 4)
        return UINT32_MAX;
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

/* Skip the string that must begin at j->at; *n = the bytes between its quotes. */
static tg_status pass_string(tg_json *j, size_t *n, bool *escaped, tg_err *err)
{
    size_t at = j->at + 1;
    uint32_t code;

    j->value = j->at;
    *escaped = false;
    while (at < j->n && j->text[at] != '"') {
        const unsigned char byte = j->text[at];

        if (byte < 0x20)
            return unexpected(j, at, "no control characters in a string", err);
        if (byte == '\\') {
            const size_t begin = at;

            *escaped = true;
            if (j->n - at < 2 || !read_escape(j, &at, &code))
                return unexpected(j, begin,
                                  "\\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t, \\uXXXX or a pair of surrogates",
                                  err);
        } else {
            const size_t length = byte < 0x80 ? 1 : tg_utf8_decode(&code, j->text + at, j->n - at);

            if (length == 0)
                return unexpected(j, at, "UTF-8", err);
            at += length;
        }
    }
    if (at == j->n)
        return unexpected(j, at, "the string's closing quote", err);
    *n = at - j->at - 1;
    j->at = at + 1;
    return TG_OK;
}

/* Decode the n bytes between the quotes of a string that has been passed. */
static tg_status decode(tg_json *j, size_t at, size_t n, tg_json_text *text, tg_err *err)
{
    const size_t end = at + n;
    size_t out = 0;
    uint32_t code;

    if (n > j->capacity) { /* no string becomes longer */
        unsigned char *decoded = realloc(j->decoded, n);

        if (!decoded)
            return tg_fail_memory(err, n, "a string");
        j->decoded = decoded;
        j->capacity = n;
    }
    while (at < end) {
        /* unreached: an escape that cannot be read: pass_string() has read it */
        if (j->text[at] == '\\' && read_escape(j, &at, &code))
            out += tg_utf8_encode((char *)j->decoded + out, code);
        else
            j->decoded[out++] = j->text[at++];
    }
    *text = (tg_json_text){(const char *)j->decoded, out};
    return TG_OK;
}

static tg_status read_string(tg_json *j, tg_json_text *text, tg_err *err)
{
    const size_t begin = j->at + 1;
    bool escaped;
    size_t n;
    const tg_status status = pass_string(j, &n, &escaped, err);

    if (status)
        return status;
    *text = (tg_json_text){(const char *)j->text + begin, n};
    return escaped ? decode(j, begin, n, text, err) : TG_OK;
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

/* Skip the number at j->at; *integer: it has neither fraction nor exponent. */
static tg_status pass_number(tg_json *j, bool *integer, tg_err *err)
{
    size_t at = j->at;

    j->value = at;
    *integer = true;
    /* unreached: the end of the text: the first byte has been seen */
    at += at < j->n && j->text[at] == '-';
    if (!is_digit(j, at))
        return unexpected(j, at, "a digit", err);
    at = j->text[at] == '0' ? at + 1 : pass_digits(j, at);
    if (at < j->n && j->text[at] == '.') {
        *integer = false;
        if (!is_digit(j, ++at))
            return unexpected(j, at, "a digit", err);
        at = pass_digits(j, at);
    }
    if (at < j->n && (j->text[at] | 0x20) == 'e') {
        *integer = false;
        at++;
        at += at < j->n && (j->text[at] == '+' || j->text[at] == '-');
        if (!is_digit(j, at))
            return unexpected(j, at, "a digit", err);
        at = pass_digits(j, at);
    }
    j->at = at;
    return TG_OK;
}

static tg_status pass_word(tg_json *j, const char *word, tg_err *err)
{
    const size_t n = strlen(word);

    j->value = j->at;
    if (j->n - j->at < n || memcmp(j->text + j->at, word, n) != 0)
        return unexpected(j, j->at, "a value", err);
    j->at += n;
    return TG_OK;
}

/* ---- the reader */

bool tg_json_is(tg_json_text text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

void tg_json_open(tg_json *j, const void *text, size_t n)
{
    *j = (tg_json){.text = text, .n = n};
}

void tg_json_open_at(tg_json *value, const tg_json *j, size_t at)
{
    *value = (tg_json){.text = j->text, .n = j->n, .at = at, .value = at};
}

void tg_json_close(tg_json *j)
{
    free(j->decoded);
    *j = (tg_json){0};
}

tg_status tg_json_peek(tg_json *j, tg_json_kind *kind, tg_err *err)
{
    static const char firsts[] = "ntf\"[{", kinds[] = {TG_JSON_NULL,   TG_JSON_BOOL,  TG_JSON_BOOL,
                                                       TG_JSON_STRING, TG_JSON_ARRAY, TG_JSON_OBJECT};
    const unsigned char byte = next_byte(j);
    const char *first = byte ? strchr(firsts, byte) : NULL;

    j->value = j->at;
    if (first)
        *kind = (tg_json_kind)kinds[first - firsts];
    else if (byte == '-' || (byte >= '0' && byte <= '9'))
        *kind = TG_JSON_NUMBER;
    else
        return unexpected(j, j->at, "a value", err);
    return TG_OK;
}

static tg_status expect(tg_json *j, tg_json_kind want, tg_err *err)
{
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "an array",      "an object"};
    tg_json_kind got;
    const tg_status status = tg_json_peek(j, &got, err);

    if (status || got == want)
        return status;
    return tg_json_fail(j, err, "expected %s, got %s", names[want], names[got]);
}

tg_status tg_json_enter(tg_json *j, tg_json_kind kind, tg_err *err)
{
    const tg_status status = expect(j, kind, err);

    assert(kind == TG_JSON_ARRAY || kind == TG_JSON_OBJECT);
    if (status)
        return status;
    if (j->depth == TG_JSON_DEPTH)
        return tg_json_fail(j, err, "more than %d nested arrays and objects", TG_JSON_DEPTH);
    j->at++;
    j->depth++;
    j->first = true;
    return TG_OK;
}

/* After a value: leave the array or object if it ends here, *more = false, or pass the comma. */
static tg_status pass_comma(tg_json *j, unsigned char closing, bool *more, tg_err *err)
{
    const unsigned char byte = next_byte(j);

    assert(j->depth > 0);
    *more = byte != closing;
    if (!*more) {
        j->at++;
        j->depth--;
        j->first = false;
        return TG_OK;
    }
    if (j->first) {
        j->first = false;
        return TG_OK;
    }
    if (byte != ',')
        return unexpected(j, j->at, closing == '}' ? "',' or '}'" : "',' or ']'", err);
    j->at++;
    return TG_OK;
}

/* Like tg_json_key(); key may be NULL. */
static tg_status next_key(tg_json *j, tg_json_text *key, bool *more, tg_err *err)
{
    tg_status status = pass_comma(j, '}', more, err);
    bool escaped;
    size_t n;

    if (status || !*more)
        return status;
    if (next_byte(j) != '"')
        return unexpected(j, j->at, "a key in quotes", err);
    if ((status = key ? read_string(j, key, err) : pass_string(j, &n, &escaped, err)))
        return status;
    if (next_byte(j) != ':')
        return unexpected(j, j->at, "':' after the key", err);
    j->at++;
    return TG_OK;
}

tg_status tg_json_key(tg_json *j, tg_json_text *key, bool *more, tg_err *err)
{
    return next_key(j, key, more, err);
}

tg_status tg_json_element(tg_json *j, bool *more, tg_err *err)
{
    return pass_comma(j, ']', more, err);
}

tg_status tg_json_get_text(tg_json *j, tg_json_text *text, tg_err *err)
{
    const tg_status status = expect(j, TG_JSON_STRING, err);

    return status ? status : read_string(j, text, err);
}

tg_status tg_json_get_size(tg_json *j, size_t *size, tg_err *err)
{
    bool integer, fits;
    tg_status status = expect(j, TG_JSON_NUMBER, err);

    if (status || (status = pass_number(j, &integer, err)))
        return status;
    *size = 0;
    fits = integer;
    for (size_t at = j->value; fits && at < j->at; at++)
        fits = j->text[at] != '-' && tg_size_mul(size, *size, 10) &&
               tg_size_add(size, *size, (size_t)(j->text[at] - '0'));
    return fits ? TG_OK
                : tg_json_fail(j, err, "expected an integer from 0 to %zu, got %.*s", SIZE_MAX,
                               (int)tg_size_min(j->at - j->value, 40), (const char *)j->text + j->value);
}

tg_status tg_json_get_number(tg_json *j, double *number, tg_err *err)
{
    char text[TG_DECIMAL_READ + 1];
    const char *end;
    bool integer;
    size_t n;
    tg_status status = expect(j, TG_JSON_NUMBER, err);

    if (status || (status = pass_number(j, &integer, err)))
        return status;
    n = j->at - j->value;
    if (n >= sizeof text)
        return tg_json_fail(j, err, "a number of %zu characters, expected at most %zu", n, sizeof text - 1);
    memcpy(text, j->text + j->value, n);
    text[n] = '\0';
    *number = tg_decimal_read(text, &end);
    return isfinite(*number) ? TG_OK : tg_json_fail(j, err, "%s is beyond the range of a double", text);
}

tg_status tg_json_get_bool(tg_json *j, bool *value, tg_err *err)
{
    const tg_status status = expect(j, TG_JSON_BOOL, err);

    if (status)
        return status;
    *value = j->text[j->at] == 't';
    return pass_word(j, *value ? "true" : "false", err);
}

/* Pass a value, or enter it. */
static tg_status pass_or_enter(tg_json *j, tg_json_kind kind, tg_err *err)
{
    bool unused;
    size_t n;

    switch (kind) {
    case TG_JSON_NULL:
        return pass_word(j, "null", err);
    case TG_JSON_BOOL:
        return tg_json_get_bool(j, &unused, err);
    case TG_JSON_NUMBER:
        return pass_number(j, &unused, err);
    case TG_JSON_STRING:
        return pass_string(j, &n, &unused, err);
    default:
        return tg_json_enter(j, kind, err);
    }
}

tg_status tg_json_skip(tg_json *j, tg_err *err)
{
    const size_t depth = j->depth;
    bool object[TG_JSON_DEPTH + 1], more;
    tg_json_kind kind;
    tg_status status;

    do {
        if ((status = tg_json_peek(j, &kind, err)) || (status = pass_or_enter(j, kind, err)))
            return status;
        if (kind == TG_JSON_ARRAY || kind == TG_JSON_OBJECT)
            object[j->depth] = kind == TG_JSON_OBJECT;
        for (more = false; j->depth > depth && !more;) {
            status = object[j->depth] ? next_key(j, NULL, &more, err) : tg_json_element(j, &more, err);
            if (status)
                return status;
        }
    } while (j->depth > depth);
    return TG_OK;
}

tg_status tg_json_element_at(tg_json *j, size_t *at, bool *more, tg_err *err)
{
    tg_json_kind kind;
    tg_status status = tg_json_element(j, more, err);

    if (status || !*more || (status = tg_json_peek(j, &kind, err)))
        return status;
    *at = j->at;
    return tg_json_skip(j, err);
}

tg_status tg_json_end(tg_json *j, tg_err *err)
{
    assert(j->depth == 0);
    pass_space(j);
    return j->at == j->n ? TG_OK : unexpected(j, j->at, "the end of the text", err);
}

tg_status tg_json_members(tg_json *j, const char *const *names, size_t n, size_t *at, tg_err *err)
{
    tg_json_text key;
    tg_json_kind kind;
    bool more;
    tg_status status = tg_json_enter(j, TG_JSON_OBJECT, err);

    memset(at, 0, n * sizeof *at);
    while (!status && !(status = tg_json_key(j, &key, &more, err)) && more) {
        size_t i = 0;

        while (i < n && !tg_json_is(key, names[i]))
            i++;
        if ((status = tg_json_peek(j, &kind, err)))
            return status;
        if (i < n && at[i] > 0)
            return tg_json_fail(j, err, "\"%s\" occurs twice", names[i]);
        if (i < n && kind != TG_JSON_NULL)
            at[i] = j->at;
        status = tg_json_skip(j, err);
    }
    return status;
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
