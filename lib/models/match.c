/* Which stored tensor is which parameter. */
#include <stdlib.h>

#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/models/matching.h"
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

/* ---- names */

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
    if ((status = tg_match_check_numbers(s, err)))
        return status;
    if (layer >= TG_LAYERS_MAX)
        return tg_fail(err, TG_EDATA, "%s: at most %d layers are supported", s->array.name, TG_LAYERS_MAX);
    if (row->part != TG_NAME_WHOLE && !m->ask->fuse_qkv)
        return tg_fail(err, TG_EUSAGE,
                       "%s: q, k and v are separate; they are joined on request (tg-convert --fuse-qkv)",
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
    if (tg_match_knows(m->f, id))
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
    if (!tg_match_knows(m->f, TG_CONFIG_N_LAYER))
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

    if (tg_match_knows(m->f, TG_CONFIG_N_HEAD))
        return tg_config_check_heads(c->n_head, c->n_embd, TG_EDATA, err);
    if (asked == 0)
        return tg_fail(err, TG_EUSAGE, "the file does not give the number of heads: use tg-convert --heads");
    if ((status = tg_config_check_heads(asked, c->n_embd, TG_EUSAGE, err)))
        return status;
    c->n_head = asked;
    return TG_OK;
}

/* What shapes cannot show: GPT-2's values are assumed. */
static tg_status assume(struct match *m, tg_err *err)
{
    tg_config *c = &m->f->config;
    size_t activation = TG_GELU_TANH;

    if (tg_match_knows(m->f, TG_CONFIG_ACTIVATION))
        return TG_OK;
    c->layer_norm_epsilon = 1e-5;
    if (m->ask->activation)
        (void)tg_choice_find(&activation, TG_ACTIVATIONS, m->ask->activation);
    c->activation = (tg_activation)activation;
    if (m->ask->activation)
        return tg_notes_add(&m->f->notes, err, "no LayerNorm epsilon in the file: assuming 1e-5");
    return tg_notes_add(&m->f->notes, err,
                        "no activation or LayerNorm epsilon in the file: assuming gelu_new and 1e-5");
}

/* What some parameters depend on is true if one of them is there. */
static void find_flags(const struct match *m)
{
    const tg_family *family = tg_config_family(&m->f->config);
    bool found[TG_WHENS] = {false};
    tg_config *c = &m->f->config;

    for (size_t i = 0; i < family->n_rows; i++)
        found[family->row[i].when] |= has(m, family->row[i].kind);
    c->layer_norm_weight = found[TG_IF_LN_WEIGHT];
    c->layer_norm_bias = found[TG_IF_LN_BIAS];
    c->linear_bias = found[TG_IF_LINEAR_BIAS];
    c->head_bias = found[TG_IF_HEAD_BIAS];
}

/* ---- values */

static tg_status check_shape(const struct match *m, const tg_stored *s, const tg_param *p, bool part,
                             bool transposed, tg_err *err)
{
    size_t want[2];

    want[transposed] = p->ndim == 1 && part ? p->shape[0] / 3 : p->shape[0];
    want[!transposed] = part ? p->shape[1] / 3 : p->shape[1];
    if (m->names->padded && p->kind == TG_WTE)
        want[0] = tg_size_max(want[0], s->array.shape[0]);
    return tg_match_check_shape(s, p->ndim, want, err);
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
    if ((status = find_sizes(m, err)) || (status = tg_match_check_asked(m->f, m->ask, err)) ||
        (status = find_heads(m, err)) || (status = assume(m, err)) ||
        (status = tg_match_tie(m->f, single(m, TG_WTE), single(m, TG_HEAD_W), err)))
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
        return tg_match_table(f, names, ask, err);
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
