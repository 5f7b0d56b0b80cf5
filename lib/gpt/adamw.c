#include "lib/gpt/adamw.h"

#include <math.h>

#include "lib/base/convert.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)16384) /* elements of a partial sum, and of a thread at a time */
#endif

#define PIECE ((size_t)256) /* of bf16 parameters that are updated at once */

size_t tg_adamw_block(void)
{
    return CHUNK;
}

size_t tg_adamw_work(const tg_params *table)
{
    return tg_ceil_div(table->floats, CHUNK);
}

struct squares {
    const float *grads;
    double *sums; /* of a chunk each */
};

static void sum_chunk(void *context, size_t begin, size_t end)
{
    const struct squares *s = context;

    s->sums[begin / CHUNK] = tg_kernels_get()->sum_squares(s->grads + begin, end - begin);
}

void tg_adamw_sum_squares(const float *grads, size_t begin, size_t end, double *work)
{
    tg_threads_run(end - begin, CHUNK, sum_chunk, &(struct squares){grads + begin, work + begin / CHUNK});
}

double tg_adamw_norm_of(const tg_params *table, const double *work)
{
    double sum = 0;

    for (size_t i = 0; i < tg_adamw_work(table); i++)
        sum += work[i];
    return sqrt(sum);
}

double tg_adamw_norm(const tg_params *table, const float *grads, double *work)
{
    tg_adamw_sum_squares(grads, 0, table->floats, work);
    return tg_adamw_norm_of(table, work);
}

struct update {
    size_t at; /* of the first float */
    const tg_adamw_state *state;
    const tg_adamw_step *step;
    tg_rng rng; /* for rounding */
};

static void update_chunk(void *context, size_t begin, size_t end)
{
    const struct update *u = context;
    const tg_adamw_state *s = u->state;
    const size_t at = u->at + begin;

    tg_kernels_get()->adamw(s->params.floats + at, s->m.floats + at, s->v.floats + at, s->grads + at,
                            end - begin, u->step);
}

/* The three numbers are rounded by 16 bits each, of which any two are independent: the halves of a random
 * word, and the sum of these without carries. */
static void round_results(const struct update *u, size_t at, size_t n, const float *w, const float *m,
                          const float *v)
{
    const tg_adamw_state *s = u->state;
    uint32_t random[PIECE];

    tg_kernels_get()->random_words(random, &u->rng, at, n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t upper = random[i] >> 16, lower = random[i] & 0xFFFF;

        s->params.halves[at + i] = tg_bf16_at_random(w[i], lower);
        s->m.halves[at + i] = tg_bf16_at_random(m[i], upper ^ lower);
        s->v.halves[at + i] = tg_bf16_at_random(v[i], upper);
    }
}

static void update_chunk16(void *context, size_t begin, size_t end)
{
    const struct update *u = context;
    const tg_adamw_state *s = u->state;
    float w[PIECE], m[PIECE], v[PIECE];

    for (size_t at = u->at + begin; at < u->at + end; at += PIECE) {
        const size_t n = tg_size_min(PIECE, u->at + end - at);

        tg_floats_from_bf16(w, s->params.halves + at, n);
        tg_floats_from_bf16(m, s->m.halves + at, n);
        tg_floats_from_bf16(v, s->v.halves + at, n);
        tg_kernels_get()->adamw(w, m, v, s->grads + at, n, u->step);
        round_results(u, at, n, w, m, v);
    }
}

double tg_adamw_grad_scale(const tg_adamw *o, double norm)
{
    return o->clip > 0 && norm > o->clip ? o->clip / norm : 1.0;
}

void tg_adamw_update_part(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                          double lr, uint64_t t, size_t begin, size_t end)
{
    tg_adamw_step step = {
        .learning_rate = (float)lr,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .gain1 = (float)(1.0 - o->beta1),
        .gain2 = (float)(1.0 - o->beta2),
        .epsilon = (float)o->epsilon,
        .correction1 = (float)(1.0 - pow(o->beta1, (double)t)),
        .correction2 = (float)(1.0 - pow(o->beta2, (double)t)),
        .grad_scale = (float)tg_adamw_grad_scale(o, norm),
    };

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const size_t first = tg_size_max(begin, p->offset), last = tg_size_min(end, p->offset + p->count);

        if (first >= last || (o->without_hidden && p->hidden))
            continue;
        step.weight_decay = p->decay ? (float)o->weight_decay : 0.0f;
        tg_threads_run(last - first, CHUNK, state->params.halves ? update_chunk16 : update_chunk,
                       &(struct update){first, state, &step, {state->seed, TG_RNG_ROUND, t}});
    }
}

void tg_adamw_update(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                     double lr, uint64_t t)
{
    tg_adamw_update_part(o, table, state, norm, lr, t, 0, table->floats);
}
