#include "lib/gpt/acts.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"

/* Max bytes over all blocks of an activation that backward can recompute: x2 at the cost of one small
 * product per block, gelu at that of GELU.  Beyond this the blocks share one. */
#ifndef KEPT_MAX
#define KEPT_MAX ((size_t)128 << 20)
#endif

tg_matrix tg_acts_row(const tg_acts *a, size_t layer, size_t row)
{
    assert(row < a->family->n_acts);
    return a->row[layer * a->family->n_acts + row];
}

/* The columns of a row that is part of a wider one. */
static tg_matrix part(const tg_acts *a, tg_matrix whole, const tg_act_row *row)
{
    const tg_config *c = &a->bound.model->config;

    return tg_matrix_columns(whole, tg_dim_size(row->first, c), tg_dim_size(row->cols, c));
}

bool tg_acts_has(const tg_acts *a, size_t row)
{
    return tg_config_when(a->family->act[row].when, &a->bound.model->config);
}

/* Whether it is another row's memory, and its gradient that row's. */
static bool is_in_place(const tg_acts *a, const tg_act_row *row)
{
    return row->in_place || !tg_config_when(row->when, &a->bound.model->config);
}

tg_matrix tg_acts_gradient(const tg_acts *a, size_t row)
{
    while (is_in_place(a, &a->family->act[row]))
        row = a->family->act[row].over;

    const tg_act_row *r = &a->family->act[row], *whole = r->part_of ? &a->family->act[r->part_of] : r;
    const size_t cols = tg_dim_size(whole->cols, &a->bound.model->config);
    const tg_matrix m = tg_acts_scratch(a, whole->gradient, cols);

    return r->part_of ? part(a, m, r) : m;
}

tg_matrix tg_acts_scratch(const tg_acts *a, tg_scratch scratch, size_t cols)
{
    const tg_matrix m = a->scratch[scratch];

    assert(cols <= m.cols || !m.data);
    return tg_matrix_of(m.data, m.type, cols);
}

tg_attention tg_acts_attention(const tg_acts *a)
{
    const tg_config *c = &a->bound.model->config;
    const tg_act_row *q = &a->family->act[a->family->q], *k = &a->family->act[a->family->k];
    const size_t H = tg_dim_size(q->heads, c);

    return (tg_attention){.B = a->B,
                          .T = a->T,
                          .H = H,
                          .KV = tg_dim_size(k->heads, c),
                          .D = tg_dim_size(q->cols, c) / H,
                          .scratch = &a->attention,
                          .cache = a->cache,
                          .positions = a->positions,
                          .first = a->first};
}

tg_dropout tg_acts_drop(const tg_acts *a, size_t layer, unsigned site)
{
    tg_dropout drop = {.p = a->dropout, .rng = a->rng};

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(layer * 4 + site) << 8;
    return drop;
}

/* ---- placing */

struct placing {
    tg_arena *arena;
    tg_acts *a;
    const tg_acts_size *size;
};

static size_t cols_of(const struct placing *p, const tg_act_row *row)
{
    return tg_dim_size(row->cols, &p->a->bound.model->config);
}

static tg_matrix place(const struct placing *p, bool between, size_t cols)
{
    return tg_matrix_place(p->arena, between ? p->size->between : p->size->type, p->size->B * p->size->T,
                           cols);
}

/* Whether there are gradients. */
static bool has_gradients(const struct placing *p)
{
    return p->size->kind != TG_ACTS_IN_PLACE;
}

/* Whether each block that is run has a matrix of its own for this row. */
static bool is_of_each(const struct placing *p, size_t row)
{
    return p->size->kind == TG_ACTS_KEPT || row == TG_ACT_X;
}

static bool is_between(tg_scratch s)
{
    return s <= TG_SCRATCH_DATT;
}

static bool is_of_backward(tg_scratch s)
{
    return s == TG_SCRATCH_DX || s == TG_SCRATCH_DNORMED || s == TG_SCRATCH_DATT;
}

/* In one precision DATT is the memory of DNORMED. */
static tg_scratch in_memory_of(const struct placing *p, tg_scratch s)
{
    return s == TG_SCRATCH_DATT && p->size->between == p->size->type ? TG_SCRATCH_DNORMED : s;
}

/* The width of the widest row that uses a scratch; 0: none does. */
static size_t widest(const struct placing *p, tg_scratch s)
{
    const tg_family *family = p->a->family;
    const bool gradients = has_gradients(p);
    size_t cols = s == TG_SCRATCH_NORMED || (gradients && is_of_backward(s)) ? p->a->C : 0;

    for (size_t i = 1; i < family->n_acts; i++)
        if (is_in_place(p->a, &family->act[i]))
            continue;
        else if (family->act[i].shared == s || (gradients && in_memory_of(p, family->act[i].gradient) == s))
            cols = tg_size_max(cols, cols_of(p, &family->act[i]));
    return cols;
}

/* The memory of WIDE is free when a loss is computed. */
static size_t rows_of(const struct placing *p, tg_scratch s, size_t cols)
{
    const size_t logits = tg_ceil_div(p->size->logits * sizeof(float), tg_type_size(p->size->between));
    const size_t N = p->size->B * p->size->T;

    return s == TG_SCRATCH_WIDE ? tg_size_max(N, tg_ceil_div(logits, cols)) : N;
}

static void place_scratch(const struct placing *p)
{
    tg_matrix *scratch = p->a->scratch;

    for (tg_scratch s = TG_SCRATCH_NORMED; s < TG_SCRATCHES; s++) {
        const size_t cols = widest(p, s);
        const tg_type type = is_between(s) ? p->size->between : p->size->type;

        if (cols > 0 && in_memory_of(p, s) == s)
            scratch[s] = tg_matrix_place(p->arena, type, rows_of(p, s, cols), cols);
    }
    if (in_memory_of(p, TG_SCRATCH_DATT) != TG_SCRATCH_DATT)
        scratch[TG_SCRATCH_DATT] = scratch[TG_SCRATCH_DNORMED];
    p->a->logits = (float *)scratch[TG_SCRATCH_WIDE].data;
}

/* The matrix that all blocks have in common. */
static tg_matrix place_common(const struct placing *p, const tg_act_row *row)
{
    if (row->shared == TG_SCRATCH_NONE)
        return place(p, row->between, cols_of(p, row));
    return tg_acts_scratch(p->a, row->shared, cols_of(p, row));
}

/* Whether the blocks' own matrices take more than KEPT_MAX, and need not be kept. */
static bool is_too_much(const struct placing *p, size_t i)
{
    const tg_act_row *row = &p->a->family->act[i];
    const size_t n = is_of_each(p, i) ? p->a->L - p->size->layer : 1;
    const size_t each = tg_type_size(row->between ? p->size->between : p->size->type);

    return p->size->B * p->size->T > KEPT_MAX / each / cols_of(p, row) / n;
}

/* A row that is not memory of its own: the next block's x, part of another, or one that it overwrites. */
static tg_matrix alias(const tg_acts *a, size_t l, const tg_act_row *row)
{
    if (row->part_of)
        return part(a, tg_acts_row(a, l, row->part_of), row);
    if (row->next)
        return l + 1 < a->L ? tg_acts_row(a, l + 1, TG_ACT_X) : a->x;
    return tg_acts_row(a, l, row->over);
}

/* In a dry run a->row is NULL. */
static void place_row(const struct placing *p, size_t i)
{
    tg_acts *a = p->a;
    const tg_act_row *row = &a->family->act[i];
    const bool kept = has_gradients(p);
    const bool is_alias = row->part_of || row->next || is_in_place(a, row) || (!kept && row->over);
    bool common = !kept || row->keep == TG_KEEP_NEVER;
    tg_matrix m = {0};

    if (kept && row->keep == TG_KEEP_IF_SMALL && is_too_much(p, i))
        a->recomputed[i] = common = true;
    if (common && !is_alias)
        m = place_common(p, row);
    for (size_t l = p->size->layer; l < a->L; l++) {
        if (!common && !is_alias && (l == p->size->layer || is_of_each(p, i)))
            m = place(p, row->between, cols_of(p, row));
        if (a->row)
            a->row[l * a->family->n_acts + i] = is_alias ? alias(a, l, row) : m;
    }
    if (i == TG_ACT_X && !kept)
        a->x = m;
}

static void place_angles(const struct placing *p)
{
    const tg_config *c = &p->a->bound.model->config;

    for (size_t i = 0; tg_config_has(c, TG_CONFIG_ROPE_THETA) && i < 1 + (size_t)(c->rope_local_theta > 0);
         i++)
        p->a->angles[i] = tg_matrix_place(p->arena, p->size->type, p->size->T, tg_config_rope_dim(c));
}

static void place_attention(const struct placing *p)
{
    const tg_attention shape = tg_acts_attention(p->a);
    const size_t keys = p->size->keys > 0 ? p->size->keys : p->size->T;
    const size_t group = has_gradients(p) ? shape.H / shape.KV : 1;

    tg_attention_place(p->arena, &p->a->attention, p->size->between, keys, shape.D, group);
}

void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size)
{
    const tg_config *c = &bound->model->config;
    const struct placing p = {arena, a, size};

    assert(tg_config_family(c)->n_acts <= TG_ACTS_MAX);
    *a = (tg_acts){.bound = *bound,
                   .family = tg_config_family(c),
                   .kind = size->kind,
                   .B = size->B,
                   .T = size->T,
                   .C = c->n_embd,
                   .L = c->n_layer};
    a->row = tg_arena_take_rows(arena, a->L, a->family->n_acts, sizeof *a->row);
    place_scratch(&p);
    place_angles(&p);
    if (size->logits > 0)
        a->targets = tg_arena_take_rows(arena, a->B, a->T, sizeof *a->targets);
    a->final_stats = (tg_norm_stats){.mean = place(&p, false, 1), .rstd = place(&p, false, 1)};
    if (has_gradients(&p))
        a->x = place(&p, false, a->C);
    for (size_t i = 1; i < a->family->n_acts; i++)
        place_row(&p, i);
    place_attention(&p);
}

/* ---- for programs (lib/tg/pass.h) */

const char *tg_acts_name(const tg_acts *a, size_t row)
{
    return row >= 1 && row < a->family->n_acts ? a->family->act[row].name : NULL;
}

size_t tg_acts_find(const tg_acts *a, const char *name)
{
    for (size_t row = 1; row < a->family->n_acts; row++)
        if (strcmp(a->family->act[row].name, name) == 0)
            return row;
    return 0;
}

float *tg_acts_values(const tg_acts *a, size_t layer, size_t row, size_t *cols, size_t *ld)
{
    tg_matrix m = {0};

    if (layer < a->L && tg_acts_name(a, row) && tg_acts_has(a, row))
        m = tg_acts_row(a, layer, row);
    *cols = m.cols;
    *ld = m.ld;
    return m.data && m.type == TG_TYPE_FLOAT ? tg_floats(m) : NULL;
}
