#include "lib/gpt/model.h"

#include <stdlib.h>

#include "lib/base/size.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/family.h"

#define VOCAB_BLOCK 64 /* a new model's vocab_size is a multiple of this */

/* Place all parameters.  The padding must be zero, as the arena's memory initially is,
 * because operations on the whole buffer include it. */
static void place_parameters(tg_arena *arena, void *context)
{
    tg_model *m = context;

    m->params = tg_arena_take(arena, m->table.floats, sizeof *m->params);
}

/* Build the parameter table, with no weights yet. */
static tg_status set_up(tg_model *m, tg_err *err)
{
    tg_status status = tg_params_build(&m->table, &m->config, err);

    if (status)
        return status;
    m->weight = calloc(m->table.n, sizeof *m->weight);
    if (!m->weight)
        return tg_fail_memory(err, m->table.n * sizeof *m->weight, "the table of weights");
    return TG_OK;
}

int32_t tg_model_bos(const tg_model *m)
{
    return m->config.bos_token > 0 ? (int32_t)(m->config.bos_token - 1)
                                   : tg_tokenizer_start_of_text(m->tokenizer);
}

void tg_model_free(tg_model *m)
{
    tg_arena_free(&m->memory);
    free(m->weight);
    tg_params_free(&m->table);
    tg_params_free(&m->trained);
    if (m->source)
        m->close_source(m->source);
    tg_tokenizer_free(m->tokenizer);
    *m = (tg_model){0};
}

size_t tg_model_vocab_size(const tg_tokenizer *tokenizer)
{
    return tg_round_up(tg_tokenizer_vocab_size(tokenizer), VOCAB_BLOCK);
}

tg_status tg_model_check_vocab(const tg_config *config, const tg_tokenizer *tokenizer, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(tokenizer);

    if (config->vocab_size >= ids)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "vocab_size %zu is below the %zu ids of tokenizer \"%s\"",
                   config->vocab_size, ids, tg_tokenizer_kind_name(tokenizer));
}

tg_status tg_model_begin(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer, tg_err *err)
{
    tg_status status;

    *m = (tg_model){.config = *config, .tokenizer = tg_tokenizer_ref(tokenizer)};
    if ((status = tg_config_check(config, err)) || (status = tg_model_check_vocab(config, tokenizer, err)) ||
        (status = set_up(m, err)))
        tg_model_free(m);
    return status;
}

tg_status tg_model_place(tg_model *m, const tg_param *p, float **where, tg_err *err)
{
    tg_status status = m->params ? TG_OK : tg_arena_build(&m->memory, place_parameters, m, err);

    if (status)
        return status;
    *where = m->params + p->offset;
    m->weight[p - m->table.entry] = *where;
    return TG_OK;
}

const float *tg_model_values(const tg_model *m, size_t i)
{
    return m->weight[i] || !m->lender ? m->weight[i] : m->lender->lend(m->source, i);
}

const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer)
{
    const size_t i = tg_params_index(&m->table, kind, layer);

    return i == m->table.n ? NULL : tg_model_values(m, i);
}

const tg_bf16 *tg_model_values16(const tg_model *m, size_t i)
{
    if (m->halves)
        return m->halves + m->table.entry[i].offset;
    return m->lender ? m->lender->lend16(m->source, i) : NULL;
}

const tg_bf16 *tg_model_rounded16(const tg_model *m, size_t i)
{
    return m->lender ? m->lender->lend_rounded(m->source, i) : NULL;
}

const float *tg_model_embedding(const tg_model *m, const int32_t *row, size_t n)
{
    return m->lender ? m->lender->lend_embedding(m->source, row, n) : tg_model_weight(m, TG_WTE, 0);
}

void tg_model_split_head(tg_model *m)
{
    size_t bytes = 0;

    m->head_is_split = m->lender->split_head(m->source, &bytes);
    m->lent_bytes -= bytes;
}

tg_row_source tg_model_head_rows(const tg_model *m)
{
    return m->head_is_split ? (tg_row_source){m->lender->lend_head, m->source} : (tg_row_source){0};
}

const tg_params *tg_model_trained(const tg_model *m)
{
    return m->adapter ? &m->adapter->table : m->trained.n > 0 ? &m->trained : &m->table;
}

tg_flat tg_model_trained_values(const tg_model *m)
{
    tg_flat values = {.floats = m->params, .halves = m->halves};

    if (m->adapter)
        values.floats = m->adapter->params;
    return values;
}

void tg_model_renew(const tg_model *m, uint64_t step)
{
    if (m->adapter || m->halves)
        m->lender->renew(m->source, step);
}

tg_status tg_model_round_changes(tg_model *m, uint64_t seed, tg_err *err)
{
    size_t bytes = 0;
    const tg_status status = m->lender->round_changes(m->source, seed, &bytes, err);

    m->lent_bytes += bytes;
    return status;
}

void tg_model_forget(const tg_model *m, size_t i)
{
    if (m->lender)
        m->lender->forget(m->source, i);
}

tg_status tg_model_check_lent(const tg_model *m, tg_err *err)
{
    return m->lender ? m->lender->check(m->source, err) : TG_OK;
}

tg_status tg_model_check_complete(const tg_model *m, tg_err *err)
{
    for (size_t i = 0; i < m->table.n; i++)
        if (!m->weight[i])
            return tg_fail(err, TG_EDATA, "%s is missing", m->table.entry[i].name);
    return TG_OK;
}

tg_status tg_model_create(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer, uint64_t seed,
                          tg_err *err)
{
    return tg_model_create_watched(m, config, tokenizer, seed, NULL, err);
}

tg_status tg_model_create_watched(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                  uint64_t seed, const tg_watch *watch, tg_err *err)
{
    float *where;
    tg_status status = tg_model_begin(m, config, tokenizer, err);

    if (status)
        return status;
    for (size_t i = 0; i < m->table.n && !status; i++)
        status = tg_model_place(m, &m->table.entry[i], &where, err);
    if (status)
        tg_model_free(m);
    else
        tg_params_init(&m->table, m->params, seed, watch);
    return status;
}

/* Whether the parameters, or what is computed with them, fix how channels are divided into heads. */
static bool has_fixed_heads(const tg_config *c)
{
    return c->head_dim > 0 || c->n_kv_head > 0 || tg_config_has(c, TG_CONFIG_ROPE_THETA);
}

tg_status tg_model_set_heads(tg_model *m, size_t heads, tg_err *err)
{
    tg_config *c = &m->config;

    if (heads == c->n_head)
        return TG_OK;
    if (has_fixed_heads(c))
        return tg_fail(
            err, TG_EUSAGE,
            "the %zu heads of the family %s cannot be read as %zu: they have a width of their own, or are "
            "rotated by it",
            c->n_head, tg_config_family(c)->name, heads);
    if (tg_config_check_heads(heads, c->n_embd, TG_EUSAGE, err))
        return TG_EUSAGE;
    c->n_head = heads;
    return TG_OK;
}
