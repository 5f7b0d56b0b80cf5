#include "formats/pickle_heap.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/grow.h"

void tg_pickle_fail(tg_pickle_heap *h, const char *format, ...)
{
    char message[TG_ERR_MAX], place[64];
    va_list arguments;

    if (h->status)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    h->status = tg_fail(h->err, TG_EDATA, "%s", message);
    snprintf(place, sizeof place, "byte %zu of the pickle", h->opcode);
    (void)tg_err_in(h->err, place);
}

/* Make room for one more than n elements of `each` bytes, up to max.  False: there is none. */
static bool grow(tg_pickle_heap *h, void *array, size_t *capacity, size_t n, size_t each, size_t max)
{
    if (n >= max)
        tg_pickle_fail(h, "more than %zu values", max);
    if (!h->status)
        h->status = tg_grow(array, capacity, n + 1, each, "the values of a pickle", h->err);
    return !h->status;
}

void tg_pickle_words_add(tg_pickle_heap *h, tg_pickle_words *words, uint32_t word)
{
    if (grow(h, &words->at, &words->capacity, words->n, sizeof *words->at, TG_PICKLE_VALUES))
        words->at[words->n++] = word;
}

uint32_t tg_pickle_add(tg_pickle_heap *h, tg_pickle_value value)
{
    if (!grow(h, &h->value, &h->values_capacity, h->values, sizeof *h->value, TG_PICKLE_VALUES))
        return TG_PICKLE_NOTHING;
    if (value.kind == TG_PICKLE_TUPLE || value.kind == TG_PICKLE_LIST || value.kind == TG_PICKLE_DICT)
        value.of.links.first = value.of.links.last = TG_PICKLE_NOTHING;
    h->value[h->values] = value;
    return (uint32_t)h->values++;
}

void tg_pickle_append(tg_pickle_heap *h, uint32_t container, uint32_t item)
{
    const uint32_t at = (uint32_t)h->links;
    tg_pickle_value *v;

    if (!grow(h, &h->link, &h->links_capacity, h->links, sizeof *h->link, TG_PICKLE_VALUES))
        return;
    v = &h->value[container];
    h->link[h->links++] = (tg_pickle_link){item, TG_PICKLE_NOTHING};
    if (v->n++ == 0)
        v->of.links.first = at;
    else
        h->link[v->of.links.last].next = at;
    v->of.links.last = at;
}

tg_pickle_tensor *tg_pickle_add_tensor(tg_pickle_heap *h, uint32_t *at)
{
    tg_pickle_value value = {.kind = TG_PICKLE_TENSOR};

    *at = TG_PICKLE_NOTHING;
    if (!grow(h, &h->tensor, &h->tensors_capacity, h->tensors, sizeof *h->tensor, TG_PICKLE_TENSORS))
        return NULL;
    value.of.first = (uint32_t)h->tensors;
    *at = tg_pickle_add(h, value);
    h->tensor[h->tensors] = (tg_pickle_tensor){0};
    return h->status ? NULL : &h->tensor[h->tensors++];
}

void tg_pickle_heap_free(tg_pickle_heap *h)
{
    free(h->value);
    free(h->link);
    free(h->tensor);
    free(h->stack.at);
    free(h->marks.at);
    free(h->memo.at);
}
