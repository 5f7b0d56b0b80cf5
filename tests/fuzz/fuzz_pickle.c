/*
 * The reader of pickles.
 *
 * What is read is walked from the root: few steps, few levels, values of the kinds that the header names.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pickle.h"
#include "tests/fuzz/input.h"
#include "tests/unit/torch_zip.h"

typedef struct level {
    const tg_pickle_value *v;
    size_t next;
} level;

/* Look at one value.  Returns how many items it has to walk. */
static size_t look(const tg_pickle *p, const tg_pickle_value *v)
{
    const tg_pickle_tensor *t;
    unsigned sum = 0;

    must(v->kind != TG_PICKLE_GLOBAL && v->kind != TG_PICKLE_STORAGE);
    if (v->kind == TG_PICKLE_TEXT)
        for (size_t i = 0; i < v->n; i++)
            sum += (unsigned char)v->of.text[i];
    if (v->kind == TG_PICKLE_TENSOR) {
        t = &p->tensor[v->of.first];
        must(t->ndim <= TG_DIMS_MAX && tg_dtype_is_valid(t->dtype));
        must(t->storage.n == 0 || memchr(t->storage.p, -1, t->storage.n) == NULL);
    }
    must(sum <= 255u * v->n || v->kind != TG_PICKLE_TEXT);
    return v->kind == TG_PICKLE_TUPLE || v->kind == TG_PICKLE_LIST || v->kind == TG_PICKLE_DICT ? v->n : 0;
}

static void walk(const tg_pickle *p, size_t max)
{
    level path[TG_PICKLE_DEPTH];
    size_t depth = 0, steps = 1;

    if (look(p, p->root) > 0)
        path[depth++] = (level){p->root, 0};
    while (depth > 0) {
        level *const l = &path[depth - 1];
        const tg_pickle_value *item;

        if (l->next == l->v->n) {
            depth--;
            continue;
        }
        item = tg_pickle_item(p, l->v, l->next);
        must(l->v->kind != TG_PICKLE_DICT || l->next % 2 != 0 || item->kind == TG_PICKLE_TEXT ||
             item->kind == TG_PICKLE_INT);
        l->next++;
        must(++steps <= max);
        if (look(p, item) > 0) {
            must(depth < TG_PICKLE_DEPTH);
            path[depth++] = (level){item, 0};
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tg_err err = {0};
    tg_pickle p;
    const tg_status status = tg_pickle_read(&p, data, size, &err);

    must(status == TG_OK || (status == TG_EDATA && strncmp(err.message, "byte ", 5) == 0));
    if (!status)
        walk(&p, 8 * size + 64);
    tg_pickle_free(&p);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    (void)seed;
    if (size < 10) {
        size = torch_zip_pickle_n < max ? torch_zip_pickle_n : max;
        memcpy(data, torch_zip_pickle, size);
    }
    return LLVMFuzzerMutate(data, size, max);
}
