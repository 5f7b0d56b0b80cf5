#include "lib/gpt/pass.h"

#include "lib/gpt/family.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/elementwise.h"

void tg_pass_place(tg_arena *arena, tg_pass *pass, const tg_model *model, size_t B, size_t T, bool gradients)
{
    const tg_config *c = &model->config;
    const tg_binding bound = {.model = model};

    *pass = (tg_pass){.steps = tg_config_family(c)->steps};
    /* the head's logits use the memory of `wide`, which is free between forward and backward */
    tg_acts_place(arena, &pass->acts, &bound, B, T, 0, tg_head_logits(B * T, c->vocab_size),
                  gradients ? TG_ACTS_KEPT : TG_ACTS_IN_PLACE);
    pass->losses = tg_arena_take_rows(arena, B, T, sizeof *pass->losses);
    tg_matmul_place(arena, &pass->matmul);
    tg_attention_place(arena, &pass->acts.attention, T, c->n_embd / c->n_head);
}

/* Not done in tg_pass_place(), because the pass may have been copied since. */
static void bind(tg_pass *p, float *grads)
{
    p->acts.bound.grads = grads;
    p->acts.bound.scratch = &p->matmul;
}

void tg_pass_begin(tg_pass *p, const int32_t *ids)
{
    bind(p, NULL);
    p->steps->embed(&p->acts, ids);
}

void tg_pass_attend(tg_pass *p, size_t l)
{
    p->steps->project(&p->acts, l);
    p->steps->attend(&p->acts, l);
}

void tg_pass_finish_block(tg_pass *p, size_t l)
{
    p->steps->finish(&p->acts, l);
}

static double mean_loss(tg_pass *p, const int32_t *targets, float loss_scale)
{
    const size_t N = p->acts.B * p->acts.T;

    p->steps->loss(&p->acts, p->losses, targets, p->acts.wide, loss_scale / (float)N);
    return tg_mean(p->losses, N);
}

double tg_pass_loss(tg_pass *p, const int32_t *targets)
{
    return mean_loss(p, targets, 1.0f);
}

size_t tg_pass_logits_rows(const tg_pass *p)
{
    const size_t V = p->acts.bound.model->config.vocab_size;

    return tg_head_logits(p->acts.B * p->acts.T, V) / V;
}

const float *tg_pass_logits(tg_pass *p, size_t first, size_t rows)
{
    p->steps->logits(&p->acts, p->acts.wide, first, rows);
    return p->acts.wide;
}

double tg_pass_run(tg_pass *p, const int32_t *ids, const int32_t *targets, float *grads, float loss_scale)
{
    double loss;

    bind(p, grads);
    p->steps->forward(&p->acts, ids);
    loss = mean_loss(p, targets, loss_scale);
    if (grads)
        p->steps->backward(&p->acts, ids);
    return loss;
}
