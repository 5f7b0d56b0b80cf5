/*
 * The reader of GGUF files.
 *
 * Of what is accepted, all values can be taken, those of blocks as their layouts say, and all tensors lie in
 * the file, one after another.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/block_types.h"
#include "formats/gguf.h"
#include "lib/base/size.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ref_blocks.h"

/* Take a value by each way that its type has. */
static void take_value(tg_gguf *g, const tg_gguf_value *v)
{
    const unsigned char *at = v->at;
    char *key = strndup(v->key.p, v->key.n);

    must(key != NULL && tg_gguf_find(g, key) == v);
    for (size_t i = 0; i < v->n; i++) {
        if (v->type == TG_GGUF_TEXT)
            must(tg_gguf_next_text(&at).p != NULL);
        else if (v->type == TG_GGUF_F32 || v->type == TG_GGUF_F64)
            (void)tg_gguf_real(v, i);
        else
            (void)tg_gguf_integer(v, i);
    }
    must(v->type != TG_GGUF_TEXT || at == v->at + v->bytes);
    for (int way = 0; way < 5; way++) {
        const tg_gguf_value *same = NULL;

        g->status = TG_OK;
        if (way == 0)
            same = tg_gguf_get_texts(g, key);
        else if (way == 1)
            same = tg_gguf_get_integers(g, key);
        else if (way == 2)
            must(tg_gguf_get_size(g, key) == 0 || !g->status);
        else if (way == 3)
            (void)tg_gguf_get_real(g, key);
        else
            must(tg_gguf_get_text(g, key).n == 0 || !g->status);
        must(way > 1 || same == (g->status ? NULL : v));
    }
    free(key);
}

static void check_values(float *x, const tg_stored *s, size_t first, size_t n)
{
    const tg_blocks *const b = s->blocks;

    if (tg_stored_load(x, s, first, n, NULL) || !b)
        return;
    for (size_t i = first; i < first + n; i++) {
        const float want = ref_block_value(b, s->at + i / b->values * b->bytes, i % b->values);

        must((isnan(want) && isnan(x[i - first])) || memcmp(&want, &x[i - first], sizeof want) == 0);
    }
}

static void take_tensor(const tg_stored *s, const uint8_t *file, size_t size)
{
    float x[300];
    const size_t n = tg_size_min(s->array.count, 300);

    must(s->at >= file && s->stored <= size && s->at <= file + size - s->stored);
    must((s->array.data == NULL) == (s->blocks != NULL));
    check_values(x, s, 0, n);
    check_values(x, s, s->array.count - n, n);
    check_values(x, s, s->array.count / 3, n / 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tg_tensor_list list = {0};
    tg_gguf g;
    tg_err err = {0};
    const tg_status status = tg_gguf_read(&list, &g, data, size, &err);

    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    for (size_t i = 0; status == TG_OK && i < g.n_values; i++)
        take_value(&g, &g.value[i]);
    for (size_t i = 0; status == TG_OK && i < list.n; i++)
        take_tensor(&list.tensor[i], data, size);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    return 0;
}

#define N32(low) low "\0\0\0"
#define N64(low) low "\0\0\0\0\0\0\0"
#define ZEROS8 "\0\0\0\0\0\0\0\0"

/* Two tensors, one of blocks, and three values. */
static const char good[] = "GGUF" N32("\3") N64("\2") N64("\3")           /* 24 */
    N64("\1") "a" N32("\4") N32("\14")                                    /* 41 */
    N64("\1") "b" N32("\10") N64("\2") "xy"                               /* 64 */
    N64("\1") "c" N32("\11") N32("\10") N64("\2") N64("\1") "z" N64("\0") /* 106 */
    N64("\1") "t" N32("\2") N64("\40") N64("\1") N32("\10") N64("\0")     /* 147 */
    N64("\1") "u" N32("\1") N64("\2") N32("\0") N64("\100")               /* 180 */
    "\0\0\0\0\0\0\0\0\0\0\0\0"                                            /* 192 */
    "\0\x3C" ZEROS8 ZEROS8 ZEROS8 ZEROS8 "\0\0\0\0\0\0" ZEROS8 ZEROS8 ZEROS8 ZEROS8 ZEROS8;

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size < 10 && max >= sizeof good - 1) {
        size = sizeof good - 1;
        memcpy(data, good, size);
    }
    return input_mutate(data, size, max, seed);
}
