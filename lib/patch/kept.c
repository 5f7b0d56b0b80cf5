#include "lib/patch/kept.h"

#include <string.h>

#include "lib/attn/attn.h"
#include "lib/gpt/family.h"

size_t tg_patch_heads(const tg_acts *a, tg_patch_site site)
{
    const tg_attention attention = tg_acts_attention(a);

    switch (site) {
    case TG_PATCH_Q:
    case TG_PATCH_Z:
    case TG_PATCH_PATTERN:
        return attention.H;
    case TG_PATCH_K:
    case TG_PATCH_V:
        return attention.KV;
    case TG_PATCH_X:
    case TG_PATCH_ATT:
    case TG_PATCH_MLP:
    case TG_PATCH_SITES:
        break;
    }
    return 0;
}

size_t tg_patch_row(const tg_acts *a, tg_patch_site site)
{
    const tg_family *f = a->family;
    const size_t rows[TG_PATCH_SITES] = {
        [TG_PATCH_X] = TG_ACT_X, [TG_PATCH_Q] = f->q,         [TG_PATCH_K] = f->k,
        [TG_PATCH_V] = f->v,     [TG_PATCH_PATTERN] = f->att, [TG_PATCH_Z] = f->att,
        [TG_PATCH_ATT] = f->att, [TG_PATCH_MLP] = f->units};

    return rows[site];
}

void tg_patch_kept_place(tg_arena *arena, tg_patch_kept *kept, const tg_acts *a, size_t capacity)
{
    const tg_config *c = &a->bound.model->config;

    *kept = (tg_patch_kept){.capacity = capacity};
    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++) {
        kept->cols[s] = tg_dim_size(a->family->act[tg_patch_row(a, s)].cols, c);
        kept->row[s] = s == TG_PATCH_ATT
                           ? kept->row[TG_PATCH_Z]
                           : tg_arena_take_rows(arena, a->L * capacity, kept->cols[s], sizeof(float));
    }
    kept->last = tg_arena_take(arena, c->n_embd, sizeof *kept->last);
    kept->logits = tg_arena_take(arena, c->vocab_size, sizeof *kept->logits);
}

tg_patch_site tg_patch_inputs_site(tg_sublayer_kind kind)
{
    return kind == TG_SUBLAYER_ATTENTION ? TG_PATCH_Z : TG_PATCH_MLP;
}

tg_matrix tg_patch_kept_inputs(const tg_patch_kept *kept, tg_sublayer_kind kind, size_t layer)
{
    const tg_patch_site site = tg_patch_inputs_site(kind);
    const tg_matrix none = {0};

    return kept ? tg_matrix_of(tg_patch_kept_at(kept, site, layer, 0), TG_TYPE_FLOAT, kept->cols[site])
                : none;
}

tg_patch_stop tg_patch_stop_of(tg_patch_site site)
{
    switch (site) {
    case TG_PATCH_X:
        return TG_PATCH_AT_BEGINNING;
    case TG_PATCH_Q:
    case TG_PATCH_K:
    case TG_PATCH_V:
        return TG_PATCH_BEFORE_ATTENTION;
    case TG_PATCH_PATTERN:
    case TG_PATCH_Z:
    case TG_PATCH_ATT:
        return TG_PATCH_AFTER_ATTENTION;
    case TG_PATCH_MLP:
    case TG_PATCH_SITES:
        break;
    }
    return TG_PATCH_AFTER_UNITS;
}

size_t tg_patch_place(const tg_acts *a, size_t layer, tg_patch_stop stop)
{
    const tg_family *f = a->family;
    const size_t row[TG_PATCH_STOPS + 1] = {0, f->att, f->att + 1, f->units + 1, f->n_acts};

    return tg_place(a, layer, row[stop]);
}

/* ---- a run */

static void keep_row(tg_patch_kept *kept, const tg_acts *a, tg_patch_site site, size_t layer)
{
    const tg_matrix m = tg_acts_row(a, layer, tg_patch_row(a, site));

    for (size_t t = 0; t < kept->T; t++)
        memcpy(tg_patch_kept_at(kept, site, layer, t), tg_floats(m) + t * m.ld, m.cols * sizeof(float));
}

static void keep_layer(tg_patch_kept *kept, tg_pass *pass, size_t layer)
{
    const tg_acts *a = &pass->acts;

    for (tg_patch_stop stop = 0; stop < TG_PATCH_STOPS; stop++) {
        for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
            if (tg_patch_stop_of(s) == stop && s != TG_PATCH_PATTERN && s != TG_PATCH_ATT)
                keep_row(kept, a, s, layer);
        (void)tg_pass_layers(pass, tg_patch_place(a, layer, stop), tg_patch_place(a, layer, stop + 1), NULL);
    }
}

void tg_patch_keep(tg_patch_kept *kept, tg_pass *pass, const int32_t *ids, size_t T)
{
    tg_acts *a = &pass->acts;

    kept->T = T;
    a->B = 1;
    a->T = T;
    a->cache = NULL;
    tg_pass_begin(pass, ids);
    for (size_t l = 0; l < a->L; l++)
        keep_layer(kept, pass, l);
    memcpy(kept->last, tg_floats(tg_matrix_from(a->x, T - 1)), a->C * sizeof *kept->last);
    memcpy(kept->logits, tg_pass_logits(pass, tg_matrix_from(a->x, T - 1), 1),
           a->bound.model->config.vocab_size * sizeof *kept->logits);
}

/* ---- patterns */

/* The weighted sum of a row of probabilities, which the walk takes of the other run's values. */
static void take_sum(void *context, const tg_attn_row *row, size_t thread)
{
    const tg_patch_kept *kept = context;
    const size_t D = row->view->D;
    float *z = tg_patch_kept_at(kept, TG_PATCH_PATTERN, row->layer, row->i) + row->h * D;

    (void)thread;
    for (size_t d = 0; d < D; d++)
        z[d] = (float)row->att[d];
}

struct walk {
    tg_attn_scratch scratch;
    size_t T, D;
};

static void place_walk(tg_arena *arena, void *context)
{
    struct walk *w = context;

    tg_attn_scratch_place(arena, &w->scratch, 0, w->T, w->D);
}

tg_status tg_patch_keep_pattern(tg_patch_kept *kept, const tg_patch_kept *values, const tg_acts *a,
                                tg_err *err)
{
    const tg_attention n = tg_acts_attention(a);
    const tg_attn_visitor visitor = {.row = take_sum, .context = kept, .att = true};
    tg_qkv_view view = tg_attn_shape_of(1, kept->T, n.H * n.D, n.H);
    struct walk walk = {.T = kept->T, .D = n.D};
    tg_arena arena = {0};
    tg_status status;

    if ((status = tg_arena_build(&arena, place_walk, &walk, err)))
        return status;
    view.KV = n.KV;
    view.ldk = view.ldv = n.KV * n.D;
    for (size_t l = 0; l < a->L; l++) {
        view.q = tg_patch_kept_at(kept, TG_PATCH_Q, l, 0);
        view.k = tg_patch_kept_at(kept, TG_PATCH_K, l, 0);
        view.v = tg_patch_kept_at(values, TG_PATCH_V, l, 0);
        view.rule = tg_config_attention_rule(&a->bound.model->config, l);
        (void)tg_attn_walk_parallel(&view, l, &TG_ATTN_KEEP_ALL, &walk.scratch, &visitor);
    }
    tg_arena_free(&arena);
    return TG_OK;
}

/* ---- means */

void tg_patch_add_to_mean(tg_patch_kept *mean, const tg_patch_kept *kept, size_t n, size_t L)
{
    mean->T = kept->T;
    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
        for (size_t l = 0; l < L && s != TG_PATCH_PATTERN && s != TG_PATCH_ATT; l++) {
            float *m = tg_patch_kept_at(mean, s, l, 0);
            const float *x = tg_patch_kept_at(kept, s, l, 0);

            for (size_t i = 0; i < kept->T * kept->cols[s]; i++)
                m[i] = n == 0 ? x[i] : m[i] + (x[i] - m[i]) / (float)(n + 1);
        }
}
