#include "tests/unit/small_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/gpt/family.h"
#include "lib/gpt/presets.h"
#include "lib/text/chars.h"
#include "lib/tokens/tokenizer_read.h"
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

tg_config small_family_config(const char *family, tg_config sizes)
{
    sizes.family = tg_family_number(family);
    tg_config_derive(&sizes);
    return sizes;
}

/* Bytes, or, for a smaller vocabulary, n letters. */
static const tg_tokenizer *tokenizer_of(size_t n)
{
    const tg_tokenizer *tok;
    tg_chars *chars;
    tg_err err = {0};

    if (n >= 256) {
        CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
        return tok;
    }
    CHECK_OK(tg_chars_create(&chars, &err), &err);
    for (unsigned char i = 0; i < n && n <= 128; i++)
        tg_chars_add(chars, &i, 1);
    CHECK_OK(tg_chars_finish(chars, &tok, &err), &err);
    tg_chars_free(chars);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), n);
    return tok;
}

void small_model_create(tg_model *m, tg_config config, uint64_t seed)
{
    const tg_tokenizer *tok = tokenizer_of(config.vocab_size);
    tg_err err = {0};

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

/* ---- gradients */

/* A central difference of one parameter. */
static double slope_of(double *x, double (*loss)(void *context), void *context)
{
    const double h = 1e-5, was = *x;
    double up, down;

    *x = was + h;
    up = loss(context);
    *x = was - h;
    down = loss(context);
    *x = was;
    return (up - down) / (2 * h);
}

/*
 * Central differences with step h have an error of h^2 f'''/6 and of eps |f| / h; at
 * 1e-5 both are about 1e-10.  What is left is the float32 backward pass itself:
 * sums of up to 256 terms of order 1, so 1e-4 relative to the largest gradient of the
 * tensor is a bound with an order of magnitude to spare.
 */
void small_model_check_gradients(const tg_params *table, const float *grads, double *flat, size_t step,
                                 double (*loss)(void *context), void *context)
{
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const size_t apart = p->ndim == 1 ? 1 : step;
        double worst = 0, largest = 0;

        CHECK(apart == 1 || p->shape[p->ndim - 1] % apart != 0);
        for (size_t e = p->offset; e < p->offset + p->count; e += apart) {
            const double slope = slope_of(&flat[e], loss, context);

            largest = fmax(largest, fabs(slope));
            if (!(fabs(slope - (double)grads[e]) <= worst)) /* a NaN as well */
                worst = fabs(slope - (double)grads[e]);
        }
        if (!(worst <= 1e-4 * largest + 1e-7))
            printf("%s: off by %g of %g\n", p->name, worst, largest);
        CHECK(worst <= 1e-4 * largest + 1e-7);
        CHECK(largest > 1e-6);
    }
}

/* Those at one of the four sites of layer l. */
static void masks_of(double *out, const tg_pass *pass, uint32_t site, size_t l, size_t n)
{
    tg_dropout drop = {.p = pass->acts.dropout, .rng = pass->acts.rng};
    float *factors = malloc(n * sizeof *factors);

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(l * 4 + site) << 8;
    tg_dropout_factors(factors, &drop, 0, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)factors[i];
    free(factors);
}

double *small_model_masks(tg_plain_masks *masks, const tg_pass *pass, const tg_config *c)
{
    const size_t L = c->n_layer, n = pass->acts.B * pass->acts.T * c->n_embd;
    const size_t probs = pass->acts.B * c->n_head * pass->acts.T * pass->acts.T;
    double *embedding = calloc((1 + 2 * L) * n + L * probs, sizeof *embedding);
    double *att_proj = embedding + n, *fc_proj = att_proj + L * n, *of_probs = fc_proj + L * n;

    masks_of(embedding, pass, 0, 0, n);
    for (size_t l = 0; l < L; l++) {
        masks_of(of_probs + l * probs, pass, 1, l, probs);
        masks_of(att_proj + l * n, pass, 2, l, n);
        masks_of(fc_proj + l * n, pass, 3, l, n);
    }
    *masks =
        (tg_plain_masks){.embedding = embedding, .probs = of_probs, .att_proj = att_proj, .fc_proj = fc_proj};
    return embedding;
}

void small_decoder_open(small_decoder *d, const tg_model *m, size_t rows, size_t sequences, size_t keys)
{
    tg_err err;

    *d = (small_decoder){0};
    tg_infer_place(&d->arena, &d->infer, m, rows, sequences, keys);
    CHECK_OK(tg_arena_alloc(&d->arena, &err), &err);
    check_fill_arena(&d->arena);
    tg_infer_place(&d->arena, &d->infer, m, rows, sequences, keys);
}

bool small_config_equal(const tg_config *a, const tg_config *b)
{
    bool equal = a->family == b->family && a->bos_token == b->bos_token && a->eos_token == b->eos_token &&
                 a->add_bos == b->add_bos;

    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++)
        equal = equal && tg_field_equal(&tg_config_fields.row[i], a, b);
    return equal;
}
