/* What the opcodes of pickles take their operands from, and work on: the bytes, and the stack. */
#include <string.h>

#include "formats/pickle_heap.h"

/* ---- bytes */

const unsigned char *tg_pickle_take(tg_pickle_heap *h, uint64_t n)
{
    const unsigned char *const bytes = h->bytes + h->at;

    if (n > h->n - h->at)
        tg_pickle_fail(h, "truncated: expected %llu more bytes, got %zu", (unsigned long long)n,
                       h->n - h->at);
    if (h->status)
        return NULL;
    h->at += (size_t)n;
    return bytes;
}

uint64_t tg_pickle_take_number(tg_pickle_heap *h, size_t width)
{
    const unsigned char *const bytes = tg_pickle_take(h, width);
    uint64_t number = 0;

    for (size_t i = width; bytes && i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

const char *tg_pickle_take_line(tg_pickle_heap *h, size_t *n)
{
    const unsigned char *const begin = h->bytes + h->at, *const end = memchr(begin, '\n', h->n - h->at);

    *n = end ? (size_t)(end - begin) : 0;
    if (!end)
        tg_pickle_fail(h, "truncated: a name does not end");
    if (h->status)
        return NULL;
    h->at += *n + 1;
    return (const char *)begin;
}

/* ---- the stack */

void tg_pickle_push(tg_pickle_heap *h, uint32_t at)
{
    tg_pickle_words_add(h, &h->stack, at);
}

void tg_pickle_push_value(tg_pickle_heap *h, tg_pickle_value value)
{
    tg_pickle_push(h, tg_pickle_add(h, value));
}

/* Values above the last mark. */
static size_t height(const tg_pickle_heap *h)
{
    return h->stack.n - (h->marks.n > 0 ? h->marks.at[h->marks.n - 1] : 0);
}

bool tg_pickle_need(tg_pickle_heap *h, size_t n)
{
    if (height(h) < n)
        tg_pickle_fail(h, "needs %zu values on the stack, has %zu", n, height(h));
    return !h->status;
}

uint32_t tg_pickle_pop(tg_pickle_heap *h)
{
    return h->stack.at[--h->stack.n];
}

uint32_t tg_pickle_top(const tg_pickle_heap *h)
{
    return h->stack.at[h->stack.n - 1];
}

size_t tg_pickle_pop_mark(tg_pickle_heap *h)
{
    if (h->marks.n == 0)
        tg_pickle_fail(h, "needs a mark on the stack");
    return h->status ? h->stack.n : h->marks.at[--h->marks.n];
}

/* Move the values from height `from` on into a container. */
static void move(tg_pickle_heap *h, uint32_t container, size_t from)
{
    for (size_t i = from; i < h->stack.n && !h->status; i++)
        tg_pickle_append(h, container, h->stack.at[i]);
    h->stack.n = from;
}

void tg_pickle_pack(tg_pickle_heap *h, tg_pickle_kind kind, size_t from)
{
    const uint32_t at = tg_pickle_add(h, (tg_pickle_value){.kind = kind});

    move(h, at, from);
    tg_pickle_push(h, at);
}

void tg_pickle_extend(tg_pickle_heap *h, tg_pickle_kind kind, size_t from)
{
    const uint32_t container = h->stack.at[from - 1];
    const tg_pickle_kind got = h->value[container].kind;

    if (got != kind)
        tg_pickle_fail(h, "expected %s to add to, got %s", tg_pickle_kind_text(kind),
                       tg_pickle_kind_text(got));
    if (kind == TG_PICKLE_DICT && (h->stack.n - from) % 2 != 0)
        tg_pickle_fail(h, "a key without a value");
    move(h, container, from);
}
