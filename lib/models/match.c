/* Which stored tensor is which parameter. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/models/model_format.h"

/* The tensors that a name stands for, by part. */
struct candidates {
    const tg_stored *stored[TG_NAME_PARTS];
    bool transposed[TG_NAME_PARTS];
};

struct match {
    tg_model_file *f;
    const tg_names *names;
    const tg_model_ask *ask;
    struct candidates *candidates; /* [TG_PARAM_KINDS * TG_LAYERS_MAX] */
    size_t layers;                 /* the highest that has a tensor, and one */
    bool transposed;               /* matrices of linear layers are [out,in] */
};

static struct candidates *candidates_at(const struct match *m, tg_param_kind kind, size_t layer)
{
    return &m->candidates[kind * TG_LAYERS_MAX + layer];
}

static bool has(const struct match *m, tg_param_kind kind)
{
    for (size_t l = 0; l < TG_LAYERS_MAX; l++)
        for (size_t part = 0; part < TG_NAME_PARTS; part++)
            if (candidates_at(m, kind, l)->stored[part])
                return true;
    return false;
}

/* The tensor of one kind outside the blocks, or NULL. */
static const tg_stored *single(const struct match *m, tg_param_kind kind)
{
    return candidates_at(m, kind, 0)->stored[TG_NAME_WHOLE];
}

static bool is_known(const tg_model_file *f, tg_config_id id)
{
    return f->config_known & TG_CONFIG_BIT(id);
}

void tg_model_file_set_size(tg_model_file *f, tg_config_id id, size_t size)
{
    *(size_t *)tg_field_member(&tg_config_fields.row[id], &f->config) = size;
    f->config_known |= TG_CONFIG_BIT(id);
}

void tg_model_file_set_norm(tg_model_file *f, tg_activation activation, double epsilon)
{
    f->config.activation = activation;
    f->config.layer_norm_epsilon = epsilon;
    f->config_known |= TG_CONFIG_BIT(TG_CONFIG_ACTIVATION);
}

void tg_model_file_set_tied(tg_model_file *f, bool tied)
{
    f->config.tied = tied;
    f->config_known |= TG_CONFIG_BIT(TG_CONFIG_TIED);
}

/* ---- names */

static tg_status check_numbers(const tg_stored *s, tg_err *err)
{
    char text[TG_ARRAY_TEXT_MAX];

    if (s->array.dtype.kind == 'f' || s->array.dtype.kind == 'B')
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has type %s, expected floating-point numbers", s->array.name,
                   tg_stored_type(text, s));
}

static tg_status find_one(struct match *m, const tg_stored *s, tg_err *err)
{
    size_t layer;
    const tg_name *row = tg_names_find(m->names, s->array.name, &layer);
    struct candidates *candidates;
    tg_status status;

    if (!row && m->ask->lossy)
        return tg_notes_add(&m->f->notes, err, "%s is left out: it is not a tensor of %s", s->array.name,
                            m->names->what);
    if (!row)
        return tg_fail(err, TG_EDATA, "%s is not a tensor of %s (tg-convert --lossy leaves it out)",
                       s->array.name, m->names->what);
    if (row->kind == TG_NAME_IGNORED)
        return TG_OK;
    if ((status = check_numbers(s, err)))
        return status;
    if (layer >= TG_LAYERS_MAX)
        return tg_fail(err, TG_EDATA, "%s: at most %d layers are supported", s->array.name, TG_LAYERS_MAX);
    if (row->part != TG_NAME_WHOLE && !m->ask->fuse_qkv)
        return tg_fail(err, TG_EUSAGE, "%s: q, k and v are separate; they are joined on request (--fuse-qkv)",
                       s->array.name);
    candidates = candidates_at(m, (tg_param_kind)row->kind, layer);
    if (candidates->stored[row->part])
        return tg_fail(err, TG_EDATA, "%s and %s are the same tensor",
                       candidates->stored[row->part]->array.name, s->array.name);
    candidates->stored[row->part] = s;
    candidates->transposed[row->part] = row->transposed;
    if (row->kind != TG_WTE && row->kind != TG_WPE)
        m->layers = tg_size_max(m->layers, layer + 1);
    return TG_OK;
}

/* ---- the config */

/* The first of the widening matrices, [C,3C] or [C,4C], decides. */
static bool are_transposed(const struct match *m)
{
    const tg_stored *s = single(m, TG_QKV_W);

    if (m->names->layout != TG_LAYOUT_BY_SHAPE)
        return m->names->layout == TG_LAYOUT_OUT_IN;
    if (!s)
        s = single(m, TG_FC_W);
    return s && s->array.ndim == 2 && s->array.shape[0] > s->array.shape[1];
}

static tg_status size_from(const struct match *m, tg_config_id id, const tg_stored *s, size_t dim,
                           tg_err *err)
{
    if (is_known(m->f, id))
        return TG_OK;
    if (s->array.ndim != 2)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions, expected 2", s->array.name, s->array.ndim);
    tg_model_file_set_size(m->f, id, s->array.shape[dim]);
    return TG_OK;
}

static tg_status find_sizes(struct match *m, tg_err *err)
{
    tg_config *c = &m->f->config;
    const tg_stored *wte = single(m, TG_WTE), *wpe = single(m, TG_WPE);
    tg_status status;

    if (!wte || !wpe)
        return tg_fail(err, TG_EDATA, "%s is missing: no model of %s", wte ? "wpe.weight" : "wte.weight",
                       m->names->what);
    if (!is_known(m->f, TG_CONFIG_N_LAYER))
        c->n_layer = m->layers;
    else if (m->layers > c->n_layer)
        return tg_fail(err, TG_EDATA, "there are tensors of layer %zu, but the config has n_layer = %zu",
                       m->layers - 1, c->n_layer);
    if ((status = size_from(m, TG_CONFIG_VOCAB_SIZE, wte, 0, err)) ||
        (status = size_from(m, TG_CONFIG_N_EMBD, wte, 1, err)))
        return status;
    return size_from(m, TG_CONFIG_N_CTX, wpe, 0, err);
}

static tg_status find_heads(struct match *m, tg_err *err)
{
    tg_config *c = &m->f->config;
    const size_t asked = m->ask->heads;
    tg_status status;

    if (is_known(m->f, TG_CONFIG_N_HEAD)) {
        if (asked > 0 && asked != c->n_head)
            return tg_fail(err, TG_EUSAGE, "the file says %zu heads, not %zu", c->n_head, asked);
        return tg_config_check_heads(c->n_head, c->n_embd, TG_EDATA, err);
    }
    if (asked == 0)
        return tg_fail(err, TG_EUSAGE, "the file does not give the number of heads: use --heads");
    if ((status = tg_config_check_heads(asked, c->n_embd, TG_EUSAGE, err)))
        return status;
    c->n_head = asked;
    return TG_OK;
}

/* What shapes cannot show: GPT-2's values are assumed. */
static tg_status assume(struct match *m, tg_err *err)
{
    tg_config *c = &m->f->config;
    const char *asked = m->ask->activation;
    const bool exact = asked && strcmp(asked, "gelu") == 0;

    if (is_known(m->f, TG_CONFIG_ACTIVATION)) {
        if (!asked || exact == (c->activation == TG_GELU_ERF))
            return TG_OK;
        return tg_fail(err, TG_EUSAGE, "the file says %s, not %s",
                       c->activation == TG_GELU_ERF ? "gelu (exact)" : "gelu_new (tanh)", asked);
    }
    c->layer_norm_epsilon = 1e-5;
    c->activation = exact ? TG_GELU_ERF : TG_GELU_TANH;
    if (asked)
        return tg_notes_add(&m->f->notes, err, "no LayerNorm epsilon in the file: assuming 1e-5");
    return tg_notes_add(&m->f->notes, err,
                        "no activation or LayerNorm epsilon in the file: assuming gelu_new and 1e-5");
}

/* What some parameters depend on is true if one of them is there. */
static void find_flags(const struct match *m)
{
    const tg_family *family = tg_config_family(&m->f->config);
    bool found[TG_IF_HEAD_BIAS + 1] = {false};
    tg_config *c = &m->f->config;

    for (size_t i = 0; i < family->n_rows; i++)
        found[family->row[i].when] |= has(m, family->row[i].kind);
    c->layer_norm_weight = found[TG_IF_LN_WEIGHT];
    c->layer_norm_bias = found[TG_IF_LN_BIAS];
    c->linear_bias = found[TG_IF_LINEAR_BIAS];
    c->head_bias = found[TG_IF_HEAD_BIAS];
}

/* ---- the head */

#define CHUNK ((size_t)4096)

/* Whether two tensors have the same values; those of one type are compared as they are stored. */
static tg_status same_values(bool *same, const tg_stored *s, const tg_stored *t, tg_err *err)
{
    float x[CHUNK], y[CHUNK];
    tg_status status;

    *same = s->array.count == t->array.count;
    if (!*same || s->at == t->at)
        return TG_OK;
    if (s->blocks == t->blocks && tg_dtype_equal(s->array.dtype, t->array.dtype)) {
        *same = memcmp(s->at, t->at, s->stored) == 0;
        return TG_OK;
    }
    for (size_t i = 0; i < s->array.count && *same; i += CHUNK) {
        const size_t n = tg_size_min(CHUNK, s->array.count - i);

        /* unreached: a status: check_numbers() has seen both types */
        if ((status = tg_stored_load(x, s, i, n, err)) || (status = tg_stored_load(y, t, i, n, err)))
            return status;
        *same = memcmp(x, y, n * sizeof *x) == 0;
    }
    return TG_OK;
}

/*
 * Without a word in the config, a head is tied if it has no matrix, or the embedding's.  A config that ties a
 * head whose matrix differs contradicts itself: like transformers from version 5 on, believe the matrix.
 */
tg_status tg_model_file_tie(tg_model_file *f, const tg_stored *wte, const tg_stored *head, tg_err *err)
{
    tg_config *c = &f->config;
    const bool tied_is_known = is_known(f, TG_CONFIG_TIED);
    bool same;
    tg_status status;

    if (tied_is_known && !c->tied)
        return TG_OK;
    c->tied = true;
    if (!head)
        return TG_OK;
    if ((status = check_numbers(wte, err)) || (status = check_numbers(head, err)) ||
        (status = same_values(&same, wte, head, err)))
        return status;
    c->tied = same;
    if (!same && tied_is_known)
        return tg_notes_add(&f->notes, err,
                            "%s differs from %s although the config ties them: kept as a separate matrix (as "
                            "transformers 5 does)",
                            head->array.name, wte->array.name);
    return TG_OK;
}

/* ---- values */

static tg_status check_shape(const struct match *m, const tg_stored *s, const tg_param *p, bool part,
                             bool transposed, tg_err *err)
{
    size_t want[2];
    char got_text[TG_ARRAY_TEXT_MAX], want_text[TG_ARRAY_TEXT_MAX];
    bool same = s->array.ndim == p->ndim;

    want[transposed] = p->ndim == 1 && part ? p->shape[0] / 3 : p->shape[0];
    want[!transposed] = part ? p->shape[1] / 3 : p->shape[1];
    if (m->names->padded && p->kind == TG_WTE)
        want[0] = tg_size_max(want[0], s->array.shape[0]);
    for (size_t i = 0; same && i < p->ndim; i++)
        same = s->array.shape[i] == want[i];
    if (same)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has shape %s, expected %s", s->array.name,
                   tg_shape_text(got_text, s->array.ndim, s->array.shape),
                   tg_shape_text(want_text, p->ndim, want));
}

static tg_status match_parts(const struct match *m, tg_values *v, const struct candidates *candidates,
                             const tg_param *p, tg_err *err)
{
    const bool parts = !candidates->stored[TG_NAME_WHOLE];
    const size_t first = parts ? TG_NAME_Q : TG_NAME_WHOLE;

    v->n = parts ? 3 : 1;
    v->transposed = candidates->transposed[first] || (tg_is_linear(p) && m->transposed);
    v->transposed = v->transposed && p->ndim == 2;
    for (size_t i = 0; i < v->n; i++) {
        const tg_stored *s = candidates->stored[first + i];
        tg_status status;

        if (!s)
            return tg_fail(err, TG_EDATA, "%s: one of q, k, v is missing", p->name);
        if (candidates->transposed[first + i] != candidates->transposed[first])
            return tg_fail(err, TG_EDATA, "%s: of its q, k and v, some are transposed", p->name);
        if ((status = check_shape(m, s, p, parts, v->transposed, err)))
            return status;
        v->piece[i] = s;
    }
    return TG_OK;
}

static tg_status match_one(const struct match *m, tg_values *v, const tg_param *p, tg_err *err)
{
    const struct candidates *candidates = candidates_at(m, p->kind, p->layer);

    for (size_t part = 0; part < TG_NAME_PARTS; part++)
        if (candidates->stored[part])
            return match_parts(m, v, candidates, p, err);
    if (p->use != TG_USE_BIAS && p->use != TG_USE_NORM)
        return tg_fail(err, TG_EDATA, "%s is missing", p->name);
    v->fill = (float)p->mean;
    return tg_notes_add(&m->f->notes, err, "%s is missing: all %s", p->name, p->mean > 0 ? "ones" : "zeros");
}

static tg_status match_values(struct match *m, tg_err *err)
{
    tg_model_file *f = m->f;
    tg_status status;

    if ((status = tg_config_check(&f->config, err)) || (status = tg_params_build(&f->table, &f->config, err)))
        return status;
    if (!(f->values = calloc(f->table.n, sizeof *f->values)))
        return tg_fail_memory(err, f->table.n * sizeof *f->values, "the table of values");
    for (size_t i = 0; i < f->table.n; i++)
        if ((status = match_one(m, &f->values[i], &f->table.entry[i], err)))
            return status;
    return TG_OK;
}

static tg_status match_all(struct match *m, tg_err *err)
{
    tg_status status;

    for (size_t i = 0; i < m->f->n_files; i++)
        for (size_t t = 0; t < m->f->file[i]->list.n; t++)
            if ((status = find_one(m, &m->f->file[i]->list.tensor[t], err)))
                return status;
    if ((status = find_sizes(m, err)) || (status = find_heads(m, err)) || (status = assume(m, err)) ||
        (status = tg_model_file_tie(m->f, single(m, TG_WTE), single(m, TG_HEAD_W), err)))
        return status;
    find_flags(m);
    m->transposed = are_transposed(m);
    return match_values(m, err);
}

tg_status tg_model_file_match(tg_model_file *f, const tg_names *names, const tg_model_ask *ask, tg_err *err)
{
    struct match m = {.f = f, .names = names, .ask = ask};
    tg_name_map map = {0};
    tg_status status;

    if (f->config.family > 0)
        return tg_model_file_match_table(f, names, ask, err);
    if (ask->map) {
        if ((status = tg_name_map_read(&map, ask->map, err)))
            return status;
        m.names = &map.names;
    }
    m.candidates = calloc((size_t)TG_PARAM_KINDS * TG_LAYERS_MAX, sizeof *m.candidates);
    if (m.candidates)
        status = match_all(&m, err);
    else
        status = tg_fail_memory(err, (size_t)TG_PARAM_KINDS * TG_LAYERS_MAX * sizeof *m.candidates,
                                "the tensors found");
    free(m.candidates);
    tg_name_map_free(&map);
    return status;
}
