#include "lib/gpt/adamw.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)16384) /* elements per partial sum, and per thread at a time */
#endif

size_t tg_adamw_work(const tg_params *table)
{
    return tg_ceil_div(table->floats, CHUNK);
}

double tg_adamw_norm(const tg_params *table, const float *grads, double *work)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t chunks = tg_adamw_work(table);
    double sum = 0;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < chunks; i++)
        work[i] = kernels->sum_squares(grads + i * CHUNK, tg_size_min(CHUNK, table->floats - i * CHUNK));
    for (size_t i = 0; i < chunks; i++)
        sum += work[i];
    return sqrt(sum);
}

static void update_tensor(const tg_param *p, const tg_adamw_state *s, const tg_adamw_step *step)
{
    const tg_kernels *kernels = tg_kernels_get();

#pragma omp parallel for schedule(static) if (p->count > CHUNK)
    for (size_t i = 0; i < p->count; i += CHUNK) {
        size_t at = p->offset + i;

        kernels->adamw(s->params + at, s->m + at, s->v + at, s->grads + at, tg_size_min(CHUNK, p->count - i),
                       step);
    }
}

void tg_adamw_update(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                     double lr, uint64_t t)
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
        .grad_scale = (float)(o->clip > 0 && norm > o->clip ? o->clip / norm : 1.0),
    };

    for (size_t i = 0; i < table->n; i++) {
        step.weight_decay = table->entry[i].decay ? (float)o->weight_decay : 0.0f;
        update_tensor(&table->entry[i], state, &step);
    }
}
