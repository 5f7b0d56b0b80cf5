/* What the opcodes of pickles take their operands from, and work on: the bytes, and the stack. */
#include <string.h>

#include "formats/pickle_heap.h"

/* ---- bytes */

tg_status tg_pickle_take(tg_pickle_heap *h, const unsigned char **bytes, uint64_t n, tg_err *err)
{
    *bytes = h->bytes + h->at;
    if (n > h->n - h->at)
        return tg_pickle_fail(h, err, "truncated: expected %llu more bytes, got %zu", (unsigned long long)n,
                              h->n - h->at);
    h->at += (size_t)n;
    return TG_OK;
}

tg_status tg_pickle_take_number(tg_pickle_heap *h, uint64_t *number, size_t width, tg_err *err)
{
    const unsigned char *bytes;
    const tg_status status = tg_pickle_take(h, &bytes, width, err);

    *number = 0;
    for (size_t i = width; !status && i-- > 0;)
        *number = *number << 8 | bytes[i];
    return status;
}

tg_status tg_pickle_take_line(tg_pickle_heap *h, const char **line, size_t *n, tg_err *err)
{
    const unsigned char *const begin = h->bytes + h->at, *const end = memchr(begin, '\n', h->n - h->at);

    *line = (const char *)begin;
    *n = end ? (size_t)(end - begin) : 0;
    if (!end)
        return tg_pickle_fail(h, err, "truncated: a name does not end");
    h->at += *n + 1;
    return TG_OK;
}

/* ---- the stack */

tg_status tg_pickle_push(tg_pickle_heap *h, uint32_t at, tg_err *err)
{
    return tg_pickle_words_add(h, &h->stack, at, err);
}

tg_status tg_pickle_push_value(tg_pickle_heap *h, tg_pickle_value value, tg_err *err)
{
    uint32_t at;
    const tg_status status = tg_pickle_add(h, &at, value, err);

    return status ? status : tg_pickle_push(h, at, err);
}

/* Values above the last mark. */
static size_t height(const tg_pickle_heap *h)
{
    return h->stack.n - (h->marks.n > 0 ? h->marks.at[h->marks.n - 1] : 0);
}

tg_status tg_pickle_need(tg_pickle_heap *h, size_t n, tg_err *err)
{
    if (height(h) < n)
        return tg_pickle_fail(h, err, "needs %zu values on the stack, has %zu", n, height(h));
    return TG_OK;
}

uint32_t tg_pickle_pop(tg_pickle_heap *h)
{
    return h->stack.at[--h->stack.n];
}

uint32_t tg_pickle_top(const tg_pickle_heap *h)
{
    return h->stack.at[h->stack.n - 1];
}

tg_status tg_pickle_pop_mark(tg_pickle_heap *h, size_t *from, tg_err *err)
{
    *from = 0;
    if (h->marks.n == 0)
        return tg_pickle_fail(h, err, "needs a mark on the stack");
    *from = h->marks.at[--h->marks.n];
    return TG_OK;
}

/* Move the values from height `from` on into a container. */
static tg_status move(tg_pickle_heap *h, uint32_t container, size_t from, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = from; i < h->stack.n && !status; i++)
        status = tg_pickle_append(h, container, h->stack.at[i], err);
    h->stack.n = from;
    return status;
}

tg_status tg_pickle_pack(tg_pickle_heap *h, tg_pickle_kind kind, size_t from, tg_err *err)
{
    uint32_t at;
    tg_status status = tg_pickle_add(h, &at, (tg_pickle_value){.kind = kind}, err);

    if (status || (status = move(h, at, from, err)))
        return status;
    return tg_pickle_push(h, at, err);
}

tg_status tg_pickle_extend(tg_pickle_heap *h, tg_pickle_kind kind, size_t from, tg_err *err)
{
    const uint32_t container = h->stack.at[from - 1];

    if (h->value[container].kind != kind)
        return tg_pickle_fail(h, err, "expected %s to add to, got %s", tg_pickle_kind_text(kind),
                              tg_pickle_kind_text(h->value[container].kind));
    if (kind == TG_PICKLE_DICT && (h->stack.n - from) % 2 != 0)
        return tg_pickle_fail(h, err, "a key without a value");
    return move(h, container, from, err);
}
