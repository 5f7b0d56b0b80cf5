#include "lib/gpt/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"

/* A dimension, as a multiple of a size of the config. */
enum dim { NONE, C1, C3, C4, CTX, VOCAB };
enum when { ALWAYS, IF_LN_WEIGHT, IF_LN_BIAS, IF_LINEAR_BIAS, IF_UNTIED, IF_HEAD_BIAS };
enum start { ZERO, ONE, NORMAL, RESIDUAL };

static const struct row {
    const char *name; /* those of a block are preceded by "h.N." */
    bool in_block;
    enum dim dim[2];
    enum when when;
    enum start start;
} rows[TG_PARAM_KINDS] = {
    [TG_WTE] = {"wte.weight", false, {VOCAB, C1}, ALWAYS, NORMAL},
    [TG_WPE] = {"wpe.weight", false, {CTX, C1}, ALWAYS, NORMAL},
    [TG_LN1_W] = {"ln_1.weight", true, {C1, NONE}, IF_LN_WEIGHT, ONE},
    [TG_LN1_B] = {"ln_1.bias", true, {C1, NONE}, IF_LN_BIAS, ZERO},
    [TG_QKV_W] = {"attn.c_attn.weight", true, {C1, C3}, ALWAYS, NORMAL},
    [TG_QKV_B] = {"attn.c_attn.bias", true, {C3, NONE}, IF_LINEAR_BIAS, ZERO},
    [TG_ATT_PROJ_W] = {"attn.c_proj.weight", true, {C1, C1}, ALWAYS, RESIDUAL},
    [TG_ATT_PROJ_B] = {"attn.c_proj.bias", true, {C1, NONE}, IF_LINEAR_BIAS, ZERO},
    [TG_LN2_W] = {"ln_2.weight", true, {C1, NONE}, IF_LN_WEIGHT, ONE},
    [TG_LN2_B] = {"ln_2.bias", true, {C1, NONE}, IF_LN_BIAS, ZERO},
    [TG_FC_W] = {"mlp.c_fc.weight", true, {C1, C4}, ALWAYS, NORMAL},
    [TG_FC_B] = {"mlp.c_fc.bias", true, {C4, NONE}, IF_LINEAR_BIAS, ZERO},
    [TG_FC_PROJ_W] = {"mlp.c_proj.weight", true, {C4, C1}, ALWAYS, RESIDUAL},
    [TG_FC_PROJ_B] = {"mlp.c_proj.bias", true, {C1, NONE}, IF_LINEAR_BIAS, ZERO},
    [TG_LNF_W] = {"ln_f.weight", false, {C1, NONE}, IF_LN_WEIGHT, ONE},
    [TG_LNF_B] = {"ln_f.bias", false, {C1, NONE}, IF_LN_BIAS, ZERO},
    [TG_HEAD_W] = {"lm_head.weight", false, {VOCAB, C1}, IF_UNTIED, NORMAL},
    [TG_HEAD_B] = {"lm_head.bias", false, {VOCAB, NONE}, IF_HEAD_BIAS, ZERO},
};

static size_t dim_of(enum dim dim, const tg_config *c)
{
    switch (dim) {
    case NONE:
        return 1;
    case C1:
        return c->n_embd;
    case C3:
        return 3 * c->n_embd;
    case C4:
        return 4 * c->n_embd;
    case CTX:
        return c->n_ctx;
    case VOCAB:
        return c->vocab_size;
    }
    return 0;
}

static bool is_there(enum when when, const tg_config *c)
{
    switch (when) {
    case ALWAYS:
        return true;
    case IF_LN_WEIGHT:
        return c->layer_norm_weight;
    case IF_LN_BIAS:
        return c->layer_norm_bias;
    case IF_LINEAR_BIAS:
        return c->linear_bias;
    case IF_UNTIED:
        return !c->tied;
    case IF_HEAD_BIAS:
        return c->head_bias;
    }
    return false;
}

static void fill_entry(tg_param *p, tg_param_kind kind, size_t layer, const tg_config *c)
{
    const struct row *row = &rows[kind];

    p->kind = kind;
    p->layer = layer;
    if (row->in_block)
        snprintf(p->name, sizeof p->name, "h.%zu.%s", layer, row->name);
    else
        snprintf(p->name, sizeof p->name, "%s", row->name);
    p->ndim = row->dim[1] == NONE ? 1 : 2;
    p->shape[0] = dim_of(row->dim[0], c);
    p->shape[1] = dim_of(row->dim[1], c);
    p->count = p->shape[0] * p->shape[1];
    p->decay = p->ndim == 2;
    p->mean = row->start == ONE ? 1.0 : 0.0;
    if (row->start == NORMAL)
        p->std = 0.02;
    else if (row->start == RESIDUAL)
        p->std = 0.02 / sqrt(2.0 * (double)c->n_layer);
}

/* Append one entry behind the others, if the config has it. */
static void append(tg_params *t, tg_param_kind kind, size_t layer, const tg_config *c)
{
    tg_param *p = &t->entry[t->n];

    if (!is_there(rows[kind].when, c))
        return;
    fill_entry(p, kind, layer, c);
    p->offset = t->floats;
    if (layer == 0)
        t->first[kind] = t->n;
    t->n++;
    t->count += p->count;
    t->floats += tg_round_up(p->count, TG_ALIGN / sizeof(float));
}

tg_status tg_params_build(tg_params *table, const tg_config *config, tg_err *err)
{
    const size_t most = TG_PARAM_KINDS * config->n_layer;

    *table = (tg_params){0};
    table->entry = calloc(most, sizeof *table->entry);
    if (!table->entry)
        return tg_fail_memory(err, most * sizeof *table->entry, "the parameter table");
    for (size_t kind = 0; kind < TG_PARAM_KINDS; kind++)
        table->first[kind] = SIZE_MAX;
    for (tg_param_kind kind = TG_WTE; kind <= TG_WPE; kind++)
        append(table, kind, 0, config);
    for (size_t l = 0; l < config->n_layer; l++) {
        size_t before = table->n;

        for (tg_param_kind kind = TG_LN1_W; kind <= TG_FC_PROJ_B; kind++)
            append(table, kind, l, config);
        table->per_layer = table->n - before;
    }
    for (tg_param_kind kind = TG_LNF_W; kind < TG_PARAM_KINDS; kind++)
        append(table, kind, 0, config);
    for (size_t kind = 0; kind < TG_PARAM_KINDS; kind++)
        table->first[kind] = tg_size_min(table->first[kind], table->n);
    return TG_OK;
}

void tg_params_free(tg_params *table)
{
    free(table->entry);
    *table = (tg_params){0};
}

size_t tg_params_index(const tg_params *table, tg_param_kind kind, size_t layer)
{
    size_t first = table->first[kind];

    return first == table->n ? table->n : first + layer * table->per_layer;
}

const tg_param *tg_params_find(const tg_params *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->entry[i].name, name) == 0)
            return &table->entry[i];
    return NULL;
}

void tg_params_init(const tg_params *table, float *flat, unsigned long long seed)
{
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const tg_rng rng = {.seed = seed, .purpose = TG_RNG_INIT, .step = i};
        float *w = flat + p->offset;

        #pragma omp parallel for
        for (size_t e = 0; e < p->count; e++)
            w[e] = (float)(p->std > 0 ? p->mean + p->std * tg_rng_normal(&rng, e) : p->mean);
    }
}
