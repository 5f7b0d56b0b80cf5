#include "lib/gpt/infer.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"

void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, size_t sequences,
                    size_t keys)
{
    const tg_family *family = tg_config_family(&model->config);
    const size_t width = tg_dim_size(family->act[family->k].cols, &model->config);
    const tg_binding bound = {.model = model};
    const tg_acts_size size = {
        .B = 1, .T = rows_max, .keys = sequences > 0 ? keys : rows_max, .kind = TG_ACTS_IN_PLACE};

    *f = (tg_infer){.model = model, .rows_max = rows_max, .count = 1};
    tg_acts_place(arena, &f->acts, &bound, &size);
    f->x = f->acts.x.data;
    tg_matmul_place(arena, &f->matmul);
    tg_kv_cache_place(arena, &f->cache, sequences, model->config.n_layer, keys, width);
}

void tg_infer_select(tg_infer *f, size_t first, size_t count)
{
    assert(count >= 1 && count <= f->rows_max && first + count <= tg_size_max(1, f->cache.sequences));
    f->first = first;
    f->count = count;
}

/* Whether a pass over n tokens rounds both operands of its products.  The bits of a text must depend neither
 * on the number of threads nor on the texts next to it. */
static bool rounds_rows(const tg_infer *f, size_t n)
{
    return f->packed && f->packed->type == TG_WEIGHT_BF16 && n >= TG_INFER_ROWS16 && tg_matmul_has_bf16();
}

/* Set up a pass over n new tokens of each selected sequence. */
static void set_rows(tg_infer *f, size_t n)
{
    tg_acts *a = &f->acts;
    const bool rounded = rounds_rows(f, n);

    assert(n >= 1 && f->count * n <= f->rows_max && f->cache.past + n <= f->model->config.n_ctx);
    assert(!f->cache.k || f->cache.past + n <= f->cache.keys);
    f->n = n;
    a->B = f->count;
    a->T = n;
    a->cache = f->cache.k ? &f->cache : NULL;
    a->first = f->first;
    f->matmul.precision = rounded ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32;
    a->bound.packed = rounded ? NULL : f->packed;
    a->bound.scratch = &f->matmul;
}

void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n)
{
    set_rows(f, n);
    tg_acts_page(&f->acts)->embed(&f->acts, ids);
    if (f->tap)
        (void)f->tap->after(f->tap->context, &f->acts, 0, TG_ACT_X);
}

void tg_infer_layers(tg_infer *f, size_t from, size_t to)
{
    (void)tg_layers_forward(&f->acts, from, to, f->tap);
}

void tg_infer_end(tg_infer *f)
{
    if (f->cache.k)
        f->cache.past += f->n;
}

void tg_infer_logits(tg_infer *f, size_t first_row, size_t rows, float *logits)
{
    f->acts.bound.packed = f->packed;
    tg_head_forward(&f->acts, tg_matrix_of(logits, TG_TYPE_FLOAT, f->model->config.vocab_size),
                    tg_matrix_from(f->acts.x, first_row), rows);
}

void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits)
{
    assert(n == 1 || f->count == 1);
    tg_infer_begin(f, ids, n);
    tg_infer_layers(f, 0, tg_layers_end(&f->acts));
    tg_infer_end(f);
    tg_infer_logits(f, n - 1, f->count, logits);
}

void tg_infer_reset(tg_infer *f)
{
    f->cache.past = 0;
}

/* ---- for programs (lib/tg/infer.h) */

/* A pass with its memory. */
typedef struct allocated {
    tg_infer infer; /* the first member: what programs see */
    tg_arena arena;
    const tg_model *model;
    size_t rows, sequences, keys;
} allocated;

static void place(tg_arena *arena, void *context)
{
    allocated *a = context;

    tg_infer_place(arena, &a->infer, a->model, a->rows, a->sequences, a->keys);
}

tg_status tg_infer_new(tg_infer **f, const tg_model *model, size_t rows, size_t sequences, size_t keys,
                       tg_err *err)
{
    allocated *a = tg_object_new(sizeof *a, "a pass", err);
    tg_status status = TG_ENOMEM;

    if (a) {
        *a = (allocated){.model = model, .rows = rows, .sequences = sequences, .keys = keys};
        status = tg_object_begun(&a, tg_arena_build(&a->arena, place, a, err));
    }
    *f = a ? &a->infer : NULL;
    return status;
}

void tg_infer_destroy(tg_infer *f)
{
    if (f)
        tg_arena_free(&((allocated *)f)->arena);
    free(f);
}
