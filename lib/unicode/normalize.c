/*
 * The text is a sequence of segments: each begins with a character before which nothing can
 * compose or be reordered (tg_unicode_form.starts), so each can be normalised separately.  A quick
 * check shows that nearly all are in normal form already; those are copied, or returned in place.
 * The others are decomposed, ordered and composed one by one.  The last segment of a call's text is
 * kept in hand, because marks may follow.
 */
#include "lib/unicode/normalize.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/unicode/unicode.h"

/* A combining mark: its order above its code point, so that numbers are compared. */
#define ORDER_SHIFT 24
#define CODE_OF(mark) ((mark) & (((uint32_t)1 << ORDER_SHIFT) - 1))
#define ORDER_OF(mark) ((mark) >> ORDER_SHIFT)

/* The forms of the characters that were looked up last, each at code % SEEN. */
#define SEEN 2048

struct seen {
    uint32_t key; /* code + 1; 0: empty */
    tg_unicode_form form;
};

struct tg_nfc {
    unsigned char cut[TG_UTF8_MAX]; /* the first bytes of a character that a text's end has cut */
    size_t cut_n;

    /* the segment in hand, decomposed: a starter, or none, and the marks after it as they came */
    bool has_starter;
    uint32_t starter;
    uint32_t *marks;
    size_t marks_n, marks_capacity; /* twice marks_n at least: the rest is scratch */

    unsigned char *out;
    size_t out_n, out_capacity;

    struct seen seen[SEEN];
};

static tg_unicode_form form_of(tg_nfc *f, uint32_t code)
{
    struct seen *s = &f->seen[code % SEEN];

    if (s->key != code + 1)
        *s = (struct seen){code + 1, tg_unicode_form_of(code)};
    return s->form;
}

tg_status tg_nfc_create(tg_nfc **nfc, tg_err *err)
{
    *nfc = calloc(1, sizeof **nfc);
    return *nfc ? TG_OK : tg_fail_memory(err, sizeof **nfc, "normalisation");
}

void tg_nfc_free(tg_nfc *nfc)
{
    if (nfc) {
        free(nfc->marks);
        free(nfc->out);
        free(nfc);
    }
}

/* ---- output */

static tg_status put(tg_nfc *f, const unsigned char *text, size_t n, tg_err *err)
{
    const tg_status status =
        tg_grow(&f->out, &f->out_capacity, tg_size_add_sat(f->out_n, n), 1, "normalised text", err);

    if (status)
        return status;
    if (n > 0)
        memcpy(f->out + f->out_n, text, n);
    f->out_n += n;
    return TG_OK;
}

static tg_status put_code(tg_nfc *f, uint32_t code, tg_err *err)
{
    char bytes[TG_UTF8_MAX];
    const size_t n = tg_utf8_encode(bytes, code);

    return put(f, (const unsigned char *)bytes, n, err);
}

/* ---- the segment in hand */

static bool in_hand(const tg_nfc *f)
{
    return f->has_starter || f->marks_n > 0;
}

static tg_status add_mark(tg_nfc *f, uint32_t mark, tg_err *err)
{
    const tg_status status = tg_grow(&f->marks, &f->marks_capacity, 2 * (f->marks_n + 1), sizeof *f->marks,
                                     "a character's combining marks", err);

    if (status)
        return status;
    f->marks[f->marks_n++] = mark;
    return TG_OK;
}

static void sort_few(uint32_t *marks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t mark = marks[i];
        size_t j = i;

        for (; j > 0 && ORDER_OF(marks[j - 1]) > ORDER_OF(mark); j--)
            marks[j] = marks[j - 1];
        marks[j] = mark;
    }
}

/* By counting: linear, and marks of the same order stay as they are. */
static void sort_many(uint32_t *marks, uint32_t *scratch, size_t n)
{
    size_t place[256] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        place[ORDER_OF(marks[i])]++;
    for (size_t order = 0; order < 256; order++) {
        const size_t count = place[order];

        place[order] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        scratch[place[ORDER_OF(marks[i])]++] = marks[i];
    memcpy(marks, scratch, n * sizeof *marks);
}

/* Order the marks in hand, and compose the starter with those that it composes with.  A mark can
 * compose only if no mark of the same order remains before it. */
static void compose(tg_nfc *f)
{
    uint32_t last = 0;
    size_t kept = 0;

    if (f->marks_n > 16)
        sort_many(f->marks, f->marks + f->marks_n, f->marks_n);
    else
        sort_few(f->marks, f->marks_n);
    for (size_t i = 0; i < f->marks_n; i++) {
        const uint32_t order = ORDER_OF(f->marks[i]);
        const uint32_t whole =
            f->has_starter && last < order ? tg_unicode_compose(f->starter, CODE_OF(f->marks[i])) : 0;

        if (whole) {
            f->starter = whole;
        } else {
            f->marks[kept++] = f->marks[i];
            last = order;
        }
    }
    f->marks_n = kept;
}

static tg_status put_composed(tg_nfc *f, tg_err *err)
{
    tg_status status = f->has_starter ? put_code(f, f->starter, err) : TG_OK;

    for (size_t i = 0; !status && i < f->marks_n; i++)
        status = put_code(f, CODE_OF(f->marks[i]), err);
    f->has_starter = false;
    f->marks_n = 0;
    return status;
}

static tg_status end_segment(tg_nfc *f, tg_err *err)
{
    compose(f);
    return put_composed(f, err);
}

/* A part of a decomposition. */
static tg_status add_part(tg_nfc *f, uint32_t code, tg_err *err)
{
    const uint32_t order = form_of(f, code).order;
    uint32_t whole;
    tg_status status;

    if (order)
        return add_mark(f, order << ORDER_SHIFT | code, err);
    compose(f);
    whole = f->has_starter && f->marks_n == 0 ? tg_unicode_compose(f->starter, code) : 0;
    if (whole) {
        f->starter = whole;
        return TG_OK;
    }
    status = put_composed(f, err);
    f->has_starter = true;
    f->starter = code;
    return status;
}

static tg_status add_character(tg_nfc *f, uint32_t code, tg_err *err)
{
    uint32_t parts[TG_UNICODE_PARTS];
    const size_t n = tg_unicode_decompose(parts, code);
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < n; i++)
        status = add_part(f, parts[i], err);
    return status;
}

/* Take the character at the start of text [n], n >= 1, in hand, or write the byte if it is not part
 * of a character; *length: the number of bytes consumed. */
static tg_status take_character(tg_nfc *f, size_t *length, const unsigned char *text, size_t n, tg_err *err)
{
    uint32_t code;
    tg_status status;

    *length = tg_utf8_decode(&code, text, n);
    if (*length > 0)
        return add_character(f, code, err);
    *length = 1;
    status = end_segment(f, err);
    return status ? status : put(f, text, 1, err);
}

/* ---- the quick check */

/*
 * Most bytes need not be decoded.  No character that changes, or that changes what precedes it,
 * begins with a byte below 0xC0, nor with one of these first bytes, all of whose characters are
 * starters in normal form.
 */
static bool is_inert(unsigned char byte)
{
    static const bool from_c0[64] = {
        [0x00] = true, [0x01] = true, [0x02] = true, [0x03] = true, /* to U+02FF */
        [0x04] = true, [0x05] = true, [0x06] = true, [0x07] = true, [0x08] = true, [0x09] = true,
        [0x0A] = true, [0x0B] = true, [0x10] = true, [0x11] = true, /* U+0400 to U+047F: Cyrillic */
        [0x25] = true, [0x26] = true, [0x27] = true, [0x28] = true, [0x29] = true, /* U+5000 to U+9FFF */
        [0x2B] = true, [0x2C] = true,                                              /* U+B000 to U+CFFF */
    };

    return byte < 0xC0 || from_c0[byte - 0xC0];
}

static bool is_ascii(const unsigned char text[8])
{
    uint64_t x;

    memcpy(&x, text, 8);
    return !(x & 0x8080808080808080);
}

/* The end of the inert bytes from text[i] on. */
static size_t skip_inert(const unsigned char *text, size_t i, size_t n)
{
    while (i < n) {
        if (n - i >= 8 && is_ascii(text + i)) {
            i += 8;
        } else if (is_inert(text[i])) {
            do
                i++;
            while (i < n && text[i] > 0x7F && is_inert(text[i]));
        } else {
            break;
        }
    }
    return i;
}

/* How many bytes of text [n] are in normal form; *segment: where the last segment of those begins. */
static size_t check(tg_nfc *f, size_t *segment, const unsigned char *text, size_t n)
{
    unsigned order = 0;
    size_t i = 0, inert = 0; /* the end of inert bytes, if the segment begins with the last of them */
    uint32_t code;

    *segment = 0;
    while (i < n) {
        const size_t from = i;
        size_t length;

        i = skip_inert(text, i, n);
        if (i > from) {
            inert = i;
            order = 0;
            continue;
        }
        length = tg_utf8_decode_high(&code, text + i, n - i);
        if (length > 0) {
            const tg_unicode_form form = form_of(f, code);

            if (form.changes || (form.order > 0 && form.order < order))
                break;
            order = form.order;
            if (form.starts) {
                *segment = i;
                inert = 0;
            }
        } else {
            *segment = i;
            inert = order = 0;
            length = 1;
        }
        i += length;
    }
    if (inert > 0) {
        const size_t length = tg_utf8_decode_last(&code, text, inert);

        *segment = inert - (length ? length : 1);
    }
    return i;
}

static bool begins_segment(tg_nfc *f, const unsigned char *text, size_t n)
{
    uint32_t code;

    return tg_utf8_decode(&code, text, n) == 0 || form_of(f, code).starts;
}

/* Where the text to be kept begins, in text that is in normal form: at its last segment, except for a
 * byte that is not part of a character, or an ASCII character that composes with nothing. */
static size_t keep_from(size_t segment, const unsigned char *text, size_t n)
{
    uint32_t code;

    if (segment == n)
        return n;
    if (tg_utf8_decode(&code, text + segment, n - segment) == 0)
        return segment + 1;
    if (code >= 0x80 || (code >= '<' && code <= '>') || (code >= 'A' && code <= 'Z') ||
        (code >= 'a' && code <= 'z'))
        return segment;
    return segment + 1;
}

/* ---- the text */

/* Complete the character that the end of the last text cut; *used: bytes of text that it took. */
static tg_status take_cut(tg_nfc *f, size_t *used, const unsigned char *text, size_t n, bool last,
                          tg_err *err)
{
    uint32_t code;
    size_t length;
    tg_status status = TG_OK;

    *used = 0;
    while (*used < n && tg_utf8_is_cut(f->cut, f->cut_n))
        f->cut[f->cut_n++] = text[(*used)++];
    if (f->cut_n == 0 || (!last && tg_utf8_is_cut(f->cut, f->cut_n)))
        return TG_OK;
    if (*used > 0 && tg_utf8_decode(&code, f->cut, f->cut_n) == 0) { /* the last byte begins what follows */
        --*used;
        f->cut_n--;
    }
    for (size_t at = 0; !status && at < f->cut_n; at += length)
        status = take_character(f, &length, f->cut + at, f->cut_n - at, err);
    f->cut_n = 0;
    return status;
}

/* Write text [n], all of whose characters are whole, and keep what may still change. */
static tg_status normalize(tg_nfc *f, const unsigned char *text, size_t n, bool last, tg_err *err)
{
    tg_status status = TG_OK;

    while (!status && n > 0) {
        size_t segment, done = 0;

        if (!in_hand(f) || begins_segment(f, text, n)) {
            status = end_segment(f, err);
            done = check(f, &segment, text, n) < n ? segment : last ? n : keep_from(segment, text, n);
            if (!status)
                status = put(f, text, done, err);
            text += done;
            n -= done;
            done = 0;
        }
        if (!status && n > 0)
            status = take_character(f, &done, text, n, err);
        text += done;
        n -= done;
    }
    return status;
}

tg_status tg_nfc_next(tg_nfc *nfc, const unsigned char **out, size_t *out_n, const unsigned char *text,
                      size_t n, bool last, tg_err *err)
{
    size_t used = 0, segment, whole;
    tg_status status;

    nfc->out_n = 0;
    status = take_cut(nfc, &used, text, n, last, err);
    if (status)
        return status;
    text += used;
    n -= used;
    whole = last ? n : tg_utf8_whole(text, n);
    if (nfc->out_n == 0 && !in_hand(nfc) && nfc->cut_n == 0 && check(nfc, &segment, text, whole) == whole) {
        *out = text;
        *out_n = last ? whole : keep_from(segment, text, whole);
        status = normalize(nfc, text + *out_n, whole - *out_n, false, err);
    } else {
        status = normalize(nfc, text, whole, last, err);
        if (!status && last)
            status = end_segment(nfc, err);
        *out = nfc->out;
        *out_n = nfc->out_n;
    }
    if (nfc->cut_n == 0) {
        nfc->cut_n = n - whole;
        if (n > whole)
            memcpy(nfc->cut, text + whole, n - whole);
    }
    return status;
}
