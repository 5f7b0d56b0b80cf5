#include "lib/gpt/params.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/kernels/kernels.h"

#define AT_ONCE ((size_t)1 << 20) /* elements initialized between two reports */

size_t tg_dim_size(tg_dim dim, const tg_config *c)
{
    const size_t H = c->n_head, KV = tg_config_kv_heads(c), D = tg_config_head_dim(c);
    const size_t size[] = {
        [TG_DIM_NONE] = 1,
        [TG_DIM_ZERO] = 0,
        [TG_DIM_C] = c->n_embd,
        [TG_DIM_HEADS] = H,
        [TG_DIM_KV_HEADS] = KV,
        [TG_DIM_D] = D,
        [TG_DIM_Q] = H * D,
        [TG_DIM_KV] = KV * D,
        [TG_DIM_Q_KV] = (H + KV) * D,
        [TG_DIM_QKV] = (H + 2 * KV) * D,
        [TG_DIM_INNER] = c->n_inner > 0 ? c->n_inner : 4 * c->n_embd,
        [TG_DIM_CTX] = c->n_ctx,
        [TG_DIM_VOCAB] = c->vocab_size,
    };

    return size[dim];
}

bool tg_config_when(tg_when when, const tg_config *c)
{
    const bool does[] = {
        [TG_ALWAYS] = true,
        [TG_IF_LN_WEIGHT] = c->layer_norm_weight,
        [TG_IF_LN_BIAS] = c->layer_norm_bias,
        [TG_IF_LINEAR_BIAS] = c->linear_bias,
        [TG_IF_UNTIED] = !c->tied,
        [TG_IF_HEAD_BIAS] = c->head_bias,
        [TG_IF_QKV_BIAS] = c->qkv_bias,
        [TG_IF_OUT_BIAS] = c->out_bias,
        [TG_IF_MLP_BIAS] = c->mlp_bias,
        [TG_IF_QK_NORM] = c->qk_norm,
    };

    return does[when];
}

static void set_name(tg_param *p, const tg_param_row *row, size_t layer, const char *block)
{
    const int n = row->in_block ? snprintf(p->name, sizeof p->name, "%s.%zu.%s", block, layer, row->name)
                                : snprintf(p->name, sizeof p->name, "%s", row->name);

    assert(n > 0 && (size_t)n < sizeof p->name);
    (void)n;
}

static void fill_entry(tg_param *p, const tg_param_row *row, size_t layer, const tg_config *c)
{
    set_name(p, row, layer, tg_config_family(c)->block);
    p->kind = row->kind;
    p->use = row->use;
    p->layer = layer;
    p->in_block = row->in_block;
    p->ndim = row->dim[1] == TG_DIM_NONE ? 1 : 2;
    p->shape[0] = tg_dim_size(row->dim[0], c);
    p->shape[1] = tg_dim_size(row->dim[1], c);
    p->count = p->shape[0] * p->shape[1];
    p->decay = p->ndim == 2;
    p->hidden = row->in_block && row->use == TG_USE_MATRIX;
    p->transposed =
        row->kind == tg_head_kind(c) || (row->use == TG_USE_MATRIX && tg_config_family(c)->transposed);
    if (row->start == TG_START_GAIN)
        p->mean = 1.0 - c->norm_offset;
    if (row->start == TG_START_NORMAL)
        p->std = 0.02;
    else if (row->start == TG_START_RESIDUAL)
        p->std = 0.02 / sqrt(2.0 * (double)c->n_layer);
}

/* Place an entry after the others of a flat buffer. */
static void place(tg_param *p, size_t *floats)
{
    p->offset = *floats;
    *floats += tg_round_up(p->count, TG_ALIGN / sizeof(float));
}

const tg_param *tg_params_append(tg_params *t, const tg_param *p)
{
    tg_param *entry = &t->entry[t->n++];

    *entry = *p;
    place(entry, &t->floats);
    t->count += p->count;
    return entry;
}

/* Append one entry, if the config has it. */
static void append(tg_params *t, const tg_param_row *row, size_t layer, const tg_config *c)
{
    tg_param p = {0};

    if (!tg_config_when(row->when, c))
        return;
    fill_entry(&p, row, layer, c);
    if (layer == 0)
        t->first[row->kind] = t->n;
    (void)tg_params_append(t, &p);
}

/* Append the rows of a block, which begin at row `first`, for each block; returns their number. */
static size_t append_blocks(tg_params *t, const tg_family *family, size_t first, const tg_config *c)
{
    size_t n = 0;

    while (first + n < family->n_rows && family->row[first + n].in_block)
        n++;
    for (size_t l = 0; l < t->blocks; l++) {
        const size_t before = t->n;

        t->block_begin[l] = t->floats;
        for (size_t i = first; i < first + n; i++)
            append(t, &family->row[i], l, c);
        t->per_layer = t->n - before;
    }
    t->block_begin[t->blocks] = t->floats;
    return n;
}

tg_status tg_params_begin(tg_params *table, size_t max, size_t blocks, tg_err *err)
{
    *table = (tg_params){.blocks = blocks};
    table->entry = calloc(max, sizeof *table->entry);
    table->block_begin = calloc(blocks + 1, sizeof *table->block_begin);
    for (size_t kind = 0; kind < TG_PARAM_KINDS; kind++)
        table->first[kind] = SIZE_MAX;
    if (table->entry && table->block_begin)
        return TG_OK;
    tg_params_free(table);
    return tg_fail_memory(err, max * sizeof *table->entry, "the parameter table");
}

tg_status tg_params_build(tg_params *table, const tg_config *config, tg_err *err)
{
    const tg_family *family = tg_config_family(config);
    const size_t max = family->n_rows * config->n_layer;

    tg_status status = tg_params_begin(table, max, config->n_layer, err);

    if (status)
        return status;
    for (size_t i = 0; i < family->n_rows;) {
        if (family->row[i].in_block)
            i += append_blocks(table, family, i, config);
        else
            append(table, &family->row[i++], 0, config);
    }
    return TG_OK;
}

void tg_params_free(tg_params *table)
{
    free(table->entry);
    free(table->block_begin);
    *table = (tg_params){0};
}

size_t tg_params_index(const tg_params *table, tg_param_kind kind, size_t layer)
{
    const size_t first = table->first[kind];

    return first == SIZE_MAX ? table->n : first + layer * table->per_layer;
}

/* ---- some of the parameters */

/* Before an entry is placed (NULL: after all): note where the blocks begin that have not begun and are not
 * after it.  `begun` have begun; returns how many then have. */
static size_t begin_blocks(tg_params *t, size_t begun, const tg_param *p)
{
    const size_t end = p && p->in_block ? p->layer + 1 : begun > 0 ? t->blocks + 1 : 0;

    while (begun < end)
        t->block_begin[begun++] = t->floats;
    return begun;
}

tg_status tg_params_split(tg_params *trained, tg_params *table, const unsigned char *frozen, tg_err *err)
{
    size_t begun = 0, floats;
    tg_status status = tg_params_begin(trained, table->n, table->blocks, err);

    if (status)
        return status;
    for (size_t i = 0; i < table->n; i++) {
        tg_param *p = &table->entry[i];

        begun = begin_blocks(trained, begun, p);
        if (!frozen[i])
            *p = *tg_params_append(trained, p);
    }
    (void)begin_blocks(trained, begun, NULL);
    floats = trained->floats;
    for (size_t i = 0; i < table->n; i++)
        if (frozen[i])
            place(&table->entry[i], &floats);
    return TG_OK;
}

const tg_param *tg_params_find(const tg_params *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->entry[i].name, name) == 0)
            return &table->entry[i];
    return NULL;
}

/* A part of a tensor at w. */
struct init {
    const tg_param *p;
    tg_rng rng;
    float *w;
    size_t first; /* of the part's elements */
};

static void init_elements(void *context, size_t begin, size_t end)
{
    const struct init *i = context;
    const tg_param *p = i->p;

    begin += i->first;
    end += i->first;
    if (p->std > 0) {
        assert(p->mean == 0);
        tg_kernels_get()->normals(i->w + begin, &i->rng, begin, end - begin, p->std);
        return;
    }
    for (size_t e = begin; e < end; e++)
        i->w[e] = (float)p->mean;
}

void tg_params_init(const tg_params *table, float *flat, unsigned long long seed, const tg_watch *watch)
{
    size_t done = 0;

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        struct init init = {p, {.seed = seed, .purpose = TG_RNG_INIT, .step = i}, flat + p->offset, 0};

        for (; init.first < p->count; init.first += AT_ONCE) {
            const size_t n = tg_size_min(AT_ONCE, p->count - init.first);

            tg_threads_run(n, TG_THREADS_ELEMENTS, init_elements, &init);
            done += n;
            (void)tg_watch_report(watch, (double)done / (double)table->count);
        }
    }
}
