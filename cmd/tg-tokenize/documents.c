#include "cmd/tg-tokenize/documents.h"

#include <string.h>

void documents_begin(documents *d, const char *separator, bool null)
{
    *d = (documents){.separator = separator, .null = null, .length = separator ? strlen(separator) : 0};
}

/* ---- a byte */

static bool next_byte(tg_text *text, size_t *n)
{
    const unsigned char *end = memchr(text->next, '\0', text->n);

    *n = end ? (size_t)(end - text->next) : text->n;
    tg_text_take(text, *n + (end != NULL));
    return end != NULL;
}

/* ---- a line */

/* Match the beginning of a line.  Returns whether the line is the separator; otherwise it is not, or
 * the text has ended. */
static bool match(documents *d, tg_text *text)
{
    while (text->n > 0 && d->matched < d->length && *text->next == (unsigned char)d->separator[d->matched]) {
        d->matched++;
        tg_text_take(text, 1);
    }
    if (text->n == 0)
        return false;
    d->in_line = d->matched < d->length || *text->next != '\n';
    if (d->in_line)
        return false;
    tg_text_take(text, 1);
    d->matched = 0;
    return true;
}

/* Whether a line that begins with `byte` may be the separator. */
static bool may_match(const documents *d, unsigned char byte)
{
    return byte == (unsigned char)(d->length > 0 ? d->separator[0] : '\n');
}

/* The bytes up to the next line that may be the separator. */
static size_t take_lines(documents *d, tg_text *text)
{
    const unsigned char *begin = text->next, *at = begin, *const end = begin + text->n;

    while (d->in_line && at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (at == end || may_match(d, *at))
            d->in_line = false;
    }
    if (!at)
        at = end;
    tg_text_take(text, (size_t)(at - begin));
    return (size_t)(at - begin);
}

static bool next_line(documents *d, tg_text *text, const unsigned char **part, size_t *n)
{
    *n = 0;
    if (!d->in_line && match(d, text))
        return true;
    if (!d->in_line)
        return false;
    if (d->matched > 0) { /* what was held back is text */
        *part = (const unsigned char *)d->separator;
        *n = d->matched;
        d->matched = 0;
        return false;
    }
    *n = take_lines(d, text);
    return false;
}

bool documents_next(documents *d, tg_text *text, const unsigned char **part, size_t *n)
{
    *part = text->next;
    if (d->separator)
        return next_line(d, text, part, n);
    if (d->null)
        return next_byte(text, n);
    *n = text->n;
    tg_text_take(text, *n);
    return false;
}

void documents_end(documents *d, const unsigned char **part, size_t *n)
{
    *part = (const unsigned char *)d->separator;
    *n = d->separator && d->matched < d->length ? d->matched : 0;
    d->matched = 0;
    d->in_line = false;
}
