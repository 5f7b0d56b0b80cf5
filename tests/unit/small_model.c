#include "tests/unit/small_model.h"

#include <stdlib.h>

#include "tests/unit/check.h"

tg_config small_config(size_t L, size_t H, size_t C, size_t n_ctx)
{
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);

    c.n_layer = L;
    c.n_head = H;
    c.n_embd = C;
    c.n_ctx = n_ctx;
    return c;
}

void small_model_create(tg_model *m, tg_config config, uint64_t seed)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    CHECK_OK(tg_model_create(m, &config, tok, seed, &err), &err);
    tg_tokenizer_free(tok);
}

void small_model_stir(tg_model *m, uint64_t seed, double matrices, double vectors)
{
    for (size_t i = 0; i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];
        const double scale = p->ndim == 2 ? matrices : vectors;

        if (scale == 0)
            continue;
        check_fill(m->params + p->offset, p->count, seed + i, scale);
        for (size_t e = 0; p->mean > 0 && e < p->count; e++)
            m->params[p->offset + e] += (float)p->mean;
    }
}

double *small_model_params64(const tg_model *m)
{
    double *flat = calloc(m->table.floats, sizeof *flat);

    for (size_t i = 0; i < m->table.floats; i++)
        flat[i] = (double)m->params[i];
    return flat;
}
