/* A model as programs see it (lib/tg/model.h). */
#include <stdlib.h>

#include "lib/base/choice.h"
#include "lib/base/object.h"
#include "lib/gpt/family.h"
#include "lib/gpt/model.h"
#include "lib/gpt/presets.h"

tg_status tg_model_new(tg_model **m, const char *preset, const tg_tokenizer *tokenizer, uint64_t seed,
                       tg_err *err)
{
    size_t number;
    tg_config config;

    *m = NULL;
    if (!tg_choice_find(&number, tg_config_presets(), preset))
        return tg_fail(err, TG_EUSAGE, "no preset is called \"%s\": expected %s", preset,
                       tg_config_presets());
    config = tg_config_preset(number);
    config.vocab_size = tg_model_vocab_size(tokenizer);
    *m = tg_object_new(sizeof **m, "a model", err);
    return *m ? tg_object_begun(m, tg_model_create(*m, &config, tokenizer, seed, err)) : TG_ENOMEM;
}

void tg_model_destroy(tg_model *m)
{
    if (m)
        tg_model_free(m);
    free(m);
}

tg_model_shape tg_model_shape_of(const tg_model *m)
{
    const tg_config *c = &m->config;

    return (tg_model_shape){
        .family = tg_config_family(c)->name,
        .n_layer = c->n_layer,
        .n_head = c->n_head,
        .n_kv_head = tg_config_kv_heads(c),
        .head_dim = tg_config_head_dim(c),
        .n_embd = c->n_embd,
        .n_inner = tg_dim_size(TG_DIM_INNER, c),
        .n_ctx = c->n_ctx,
        .vocab_size = c->vocab_size,
    };
}

const tg_tokenizer *tg_model_tokenizer(const tg_model *m)
{
    return m->tokenizer;
}

size_t tg_model_tensors(const tg_model *m)
{
    return m->table.n;
}

tg_model_tensor tg_model_tensor_at(const tg_model *m, size_t i)
{
    const tg_param *p = &m->table.entry[i];

    return (tg_model_tensor){
        .name = p->name,
        .values = tg_model_values(m, i),
        .ndim = p->ndim,
        .shape = {p->shape[0], p->shape[1]},
        .offset = p->offset,
    };
}

size_t tg_model_floats(const tg_model *m)
{
    return m->table.floats;
}

float *tg_model_parameters(tg_model *m)
{
    return m->params;
}
