#include "formats/pickle_heap.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"

tg_status tg_pickle_fail(const tg_pickle_heap *h, tg_err *err, const char *format, ...)
{
    char message[TG_ERR_MAX], place[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)tg_fail(err, TG_EDATA, "%s", message);
    snprintf(place, sizeof place, "byte %zu of the pickle", h->opcode);
    (void)tg_err_in(err, place);
    return TG_EDATA;
}

/* Make room for one more than n elements of `each` bytes, up to max. */
static tg_status grow(tg_pickle_heap *h, void *array, size_t *capacity, size_t n, size_t each, size_t max,
                      tg_err *err)
{
    if (n >= max)
        return tg_pickle_fail(h, err, "more than %zu values", max);
    return tg_grow(array, capacity, n + 1, each, "the values of a pickle", err);
}

tg_status tg_pickle_words_add(tg_pickle_heap *h, tg_pickle_words *words, uint32_t word, tg_err *err)
{
    const tg_status status =
        grow(h, &words->at, &words->capacity, words->n, sizeof *words->at, TG_PICKLE_VALUES, err);

    if (!status)
        words->at[words->n++] = word;
    return status;
}

tg_status tg_pickle_add(tg_pickle_heap *h, uint32_t *at, tg_pickle_value value, tg_err *err)
{
    const tg_status status =
        grow(h, &h->value, &h->values_capacity, h->values, sizeof *h->value, TG_PICKLE_VALUES, err);

    if (status)
        return status;
    *at = (uint32_t)h->values;
    if (value.kind == TG_PICKLE_TUPLE || value.kind == TG_PICKLE_LIST || value.kind == TG_PICKLE_DICT)
        value.of.links.first = value.of.links.last = TG_PICKLE_NOTHING;
    h->value[h->values++] = value;
    return TG_OK;
}

tg_status tg_pickle_append(tg_pickle_heap *h, uint32_t container, uint32_t item, tg_err *err)
{
    tg_pickle_value *const v = &h->value[container];
    const uint32_t at = (uint32_t)h->links;
    const tg_status status =
        grow(h, &h->link, &h->links_capacity, h->links, sizeof *h->link, TG_PICKLE_VALUES, err);

    if (status)
        return status;
    h->link[h->links++] = (tg_pickle_link){item, TG_PICKLE_NOTHING};
    if (v->n++ == 0)
        v->of.links.first = at;
    else
        h->link[v->of.links.last].next = at;
    v->of.links.last = at;
    return TG_OK;
}

tg_status tg_pickle_add_tensor(tg_pickle_heap *h, uint32_t *at, tg_pickle_tensor **t, tg_err *err)
{
    tg_status status =
        grow(h, &h->tensor, &h->tensors_capacity, h->tensors, sizeof *h->tensor, TG_PICKLE_TENSORS, err);
    tg_pickle_value value = {.kind = TG_PICKLE_TENSOR};

    value.of.first = (uint32_t)h->tensors;
    if (status || (status = tg_pickle_add(h, at, value, err)))
        return status;
    *t = &h->tensor[h->tensors++];
    **t = (tg_pickle_tensor){0};
    return TG_OK;
}

void tg_pickle_heap_free(tg_pickle_heap *h)
{
    free(h->value);
    free(h->link);
    free(h->tensor);
    free(h->stack.at);
    free(h->marks.at);
    free(h->memo.at);
    *h = (tg_pickle_heap){0};
}
