#include "lib/lens/lens_write.h"

#include <stdio.h>

#include "formats/archive.h"
#include "lib/base/size.h"

/* ---- what both kinds have */

struct writer {
    tg_archive_writer *archive;
    const tg_tokenizer *tok;
    tg_token_text_of text_of;
};

static tg_status put(const struct writer *w, const char *name, tg_dtype type, size_t dims,
                     const size_t *shape, const void *data, tg_err *err)
{
    return tg_archive_put(w->archive, name, type, dims, shape, data, err);
}

/* Those of ids of this shape. */
static tg_status put_texts(const struct writer *w, const char *name, size_t dims, const size_t *shape,
                           const int64_t *ids, tg_err *err)
{
    size_t n = 1;

    for (size_t d = 0; d < dims; d++)
        n *= shape[d];
    return tg_token_texts_put(w->archive, name, dims, shape, w->tok, w->text_of, ids, n, err);
}

static tg_status begin(struct writer *w, int fd, const char *kind, const tg_model *model, const int32_t *ids,
                       size_t T, tg_err *err)
{
    char ids_name[32], text_name[32];
    tg_status status;

    snprintf(ids_name, sizeof ids_name, "%s/ids", kind);
    snprintf(text_name, sizeof text_name, "%s/text", kind);
    w->tok = model->tokenizer;
    if ((status = tg_archive_create(&w->archive, fd, err)) ||
        (status = tg_archive_put_text(w->archive, "kind", kind, err)) ||
        (status = tg_archive_put_i64(w->archive, "version", TG_LENS_VERSION, err)))
        return status;
    return tg_token_ids_put(w->archive, ids_name, text_name, w->tok, w->text_of, ids, T, err);
}

/* ---- predictions */

/* All rows, [layers,positions] of each value. */
struct rows {
    const tg_lens *lens;
    size_t layers, positions, K, n; /* n: taken */
    int64_t *layer, *position;
    int64_t *target, *rank;
    float *logit, *top_logits;
    double *kl, *entropy, *sum;
    int64_t *top;
};

static void place_rows(tg_arena *arena, void *context)
{
    struct rows *r = context;
    const size_t n = tg_size_mul_sat(r->layers, r->positions);

    r->layer = tg_arena_take(arena, r->layers, sizeof *r->layer);
    r->position = tg_arena_take(arena, r->positions, sizeof *r->position);
    r->target = tg_arena_take(arena, r->positions, sizeof *r->target);
    r->rank = tg_arena_take(arena, n, sizeof *r->rank);
    r->logit = tg_arena_take(arena, n, sizeof *r->logit);
    r->kl = tg_arena_take(arena, n, sizeof *r->kl);
    r->entropy = tg_arena_take(arena, n, sizeof *r->entropy);
    r->sum = tg_arena_take(arena, n, sizeof *r->sum);
    r->top = tg_arena_take_rows(arena, n, r->K, sizeof *r->top);
    r->top_logits = tg_arena_take_rows(arena, n, r->K, sizeof *r->top_logits);
}

/* Rows arrive by position and then by layer; arrays have layers first. */
static tg_status take(void *context, const tg_lens_row *row, tg_err *err)
{
    struct rows *r = context;
    const size_t layer = r->n % r->layers, position = r->n / r->layers;
    const size_t at = layer * r->positions + position;

    (void)err;
    r->n++;
    r->layer[layer] = (int64_t)row->layer;
    r->position[position] = (int64_t)row->position;
    r->target[position] = row->target;
    r->rank[at] = row->target < 0 ? -1 : (int64_t)row->score.rank;
    r->logit[at] = row->logit;
    r->kl[at] = row->kl;
    r->entropy[at] = row->score.entropy;
    r->sum[at] = row->score.max + row->score.log_sum;
    for (size_t k = 0; k < r->K; k++) {
        r->top[at * r->K + k] = row->top[k];
        r->top_logits[at * r->K + k] = row->top_logits[k];
    }
    return TG_OK;
}

static tg_status put_top(const struct writer *w, const struct rows *r, const size_t shape[3], tg_err *err)
{
    tg_status status;

    if (r->K == 0)
        return TG_OK;
    if ((status = put(w, "lens/top_ids", TG_I64, 3, shape, r->top, err)) ||
        (status = put(w, "lens/top_logits", TG_F32, 3, shape, r->top_logits, err)))
        return status;
    return put_texts(w, "lens/top_text", 3, shape, r->top, err);
}

static tg_status put_rows(const struct writer *w, const struct rows *r, tg_err *err)
{
    const size_t shape[] = {r->layers, r->positions, r->K};
    tg_status status;

    if ((status = tg_archive_put_i64(w->archive, "lens/n_layer", (int64_t)r->lens->L, err)) ||
        (status = put(w, "lens/layers", TG_I64, 1, &r->layers, r->layer, err)) ||
        (status = put(w, "lens/positions", TG_I64, 1, &r->positions, r->position, err)) ||
        (status = put(w, "lens/target", TG_I64, 1, &r->positions, r->target, err)) ||
        (status = put_texts(w, "lens/target_text", 1, &r->positions, r->target, err)) ||
        (status = put(w, "lens/rank", TG_I64, 2, shape, r->rank, err)) ||
        (status = put(w, "lens/logit", TG_F32, 2, shape, r->logit, err)) ||
        (status = put(w, "lens/kl", TG_F64, 2, shape, r->kl, err)) ||
        (status = put(w, "lens/entropy", TG_F64, 2, shape, r->entropy, err)) ||
        (status = put(w, "lens/sum", TG_F64, 2, shape, r->sum, err)))
        return status;
    return put_top(w, r, shape, err);
}

tg_status tg_lens_write(int fd, tg_lens *lens, const int32_t *ids, tg_token_text_of text_of, tg_err *err)
{
    struct writer w = {.text_of = text_of};
    struct rows r = {.lens = lens,
                     .layers = lens->plan.layer == TG_LENS_ALL ? lens->L + 1 : 1,
                     .positions = lens->plan.position == TG_LENS_ALL ? lens->T : 1,
                     .K = lens->plan.top};
    tg_arena arena;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_rows, &r, err)))
        return status;
    if (!(status = tg_lens_run(lens, ids, take, &r, err)) &&
        !(status = begin(&w, fd, "lens", lens->model, ids, lens->T, err)))
        status = put_rows(&w, &r, err);
    status = tg_archive_end(w.archive, status, err);
    tg_arena_free(&arena);
    return status;
}

/* ---- the parts of a logit */

static tg_status put_numbers(const struct writer *w, const tg_attribution *a, tg_err *err)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"attribution/logit", a->logit},
        {"attribution/capped", a->capped},
        {"attribution/sum", a->sum},
        {"attribution/scale", a->scale},
        {"attribution/embedding", a->embedding},
        {"attribution/position_embedding", a->wpe},
        {"attribution/norm_bias", a->shift},
        {"attribution/head_bias", a->head_bias},
    };
    tg_status status = TG_OK;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !status; i++)
        status = tg_archive_put_f64(w->archive, numbers[i].name, numbers[i].value, err);
    return status;
}

static tg_status put_parts(const struct writer *w, const tg_attribution *a, tg_err *err)
{
    const size_t heads[] = {a->L, a->H, a->T}, units[] = {a->L, a->inner};
    tg_status status;

    if ((status = put(w, "attribution/head", TG_F64, 2, heads, a->head, err)) ||
        (status = put(w, "attribution/key", TG_F64, 3, heads, a->key, err)) ||
        (status = put(w, "attribution/att_bias", TG_F64, 1, heads, a->bias[TG_SUBLAYER_ATTENTION], err)) ||
        (status = put(w, "attribution/mlp", TG_F64, 1, heads, a->mlp, err)) ||
        (status = put(w, "attribution/unit", TG_F64, 2, units, a->unit, err)))
        return status;
    return put(w, "attribution/mlp_bias", TG_F64, 1, heads, a->bias[TG_SUBLAYER_MLP], err);
}

/* Its id and its text; of -1, no token, no text. */
static tg_status put_token(const struct writer *w, const char *name, const char *text_name, int64_t id,
                           tg_err *err)
{
    return tg_token_id_put(w->archive, name, text_name, w->tok, w->text_of, id, err);
}

static tg_status put_attribution(const struct writer *w, const tg_attribution *a, tg_err *err)
{
    tg_status status;

    if ((status = tg_archive_put_i64(w->archive, "attribution/position", (int64_t)a->plan.position, err)) ||
        (status = put_token(w, "attribution/token", "attribution/token_text", a->plan.token, err)) ||
        (status = put_token(w, "attribution/minus", "attribution/minus_text", a->plan.minus, err)) ||
        (status = put_numbers(w, a, err)))
        return status;
    return put_parts(w, a, err);
}

tg_status tg_attribution_write(int fd, const tg_attribution *a, const int32_t *ids, tg_token_text_of text_of,
                               tg_err *err)
{
    struct writer w = {.text_of = text_of};
    tg_status status = begin(&w, fd, "attribution", a->model, ids, a->T, err);

    if (!status)
        status = put_attribution(&w, a, err);
    return tg_archive_end(w.archive, status, err);
}
