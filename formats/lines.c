#include "formats/lines.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"

/* Add the bytes that are ready, up to a line feed, which is only skipped; *ends: there was one. */
static tg_status add_ready(tg_lines *l, bool *ends, tg_err *err)
{
    tg_source *s = l->source;
    const unsigned char *end = memchr(s->next, '\n', s->ready);
    const size_t n = end ? (size_t)(end - s->next) : s->ready;
    const tg_status status = tg_grow(&l->text, &l->capacity, l->n + n + 1, 1, "a line", err);

    if (status)
        return status;
    memcpy(l->text + l->n, s->next, n);
    l->n += n;
    l->text[l->n] = '\0';
    *ends = end != NULL;
    tg_source_skip(s, n + *ends);
    return TG_OK;
}

/* Skip a byte order mark.  No byte is waited for that is not one of its own. */
static tg_status skip_mark(tg_source *s, tg_err *err)
{
    static const unsigned char mark[] = {0xEF, 0xBB, 0xBF};
    tg_status status = tg_source_peek(s, 1, err);

    if (status || s->ready == 0 || s->next[0] != mark[0] || (status = tg_source_peek(s, sizeof mark, err)))
        return status;
    if (s->ready >= sizeof mark && memcmp(s->next, mark, sizeof mark) == 0)
        tg_source_skip(s, sizeof mark);
    return TG_OK;
}

tg_status tg_lines_next(tg_lines *l, bool *any, tg_err *err)
{
    bool ends = false;
    tg_status status;

    *any = false;
    l->n = 0;
    if (l->number == 0 && (status = skip_mark(l->source, err)))
        return status;
    while (!ends) {
        if ((status = tg_source_peek(l->source, 1, err)))
            return status;
        if (l->source->ready == 0)
            break;
        *any = true;
        if ((status = add_ready(l, &ends, err)))
            return status;
    }
    l->number += *any;
    return TG_OK;
}

void tg_lines_free(tg_lines *l)
{
    free(l->text);
    *l = (tg_lines){0};
}
