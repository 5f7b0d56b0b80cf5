#include "lib/gpt/adamw.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)16384) /* elements of a partial sum, and of a thread at a time */
#endif

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

double tg_adamw_norm(const tg_params *table, const float *grads, double *work)
{
    const size_t chunks = tg_adamw_work(table);
    double sum = 0;

    tg_threads_run(table->floats, CHUNK, sum_chunk, &(struct squares){grads, work});
    for (size_t i = 0; i < chunks; i++)
        sum += work[i];
    return sqrt(sum);
}

struct update {
    const tg_param *p;
    const tg_adamw_state *state;
    const tg_adamw_step *step;
};

static void update_chunk(void *context, size_t begin, size_t end)
{
    const struct update *u = context;
    const tg_adamw_state *s = u->state;
    const size_t at = u->p->offset + begin;

    tg_kernels_get()->adamw(s->params + at, s->m + at, s->v + at, s->grads + at, end - begin, u->step);
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
        tg_threads_run(table->entry[i].count, CHUNK, update_chunk,
                       &(struct update){&table->entry[i], state, &step});
    }
}
