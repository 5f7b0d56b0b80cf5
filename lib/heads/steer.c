#include "lib/heads/steer.h"

#include "lib/gpt/family.h"

static void add(const tg_steer *s, const tg_acts *a, tg_matrix x, size_t layer)
{
    for (size_t n = 0; n < s->n_add; n++) {
        const tg_steer_vector *v = &s->add[n];

        for (size_t bt = 0; v->layer == layer && bt < a->B * a->T; bt++)
            for (size_t c = 0; c < a->C; c++)
                tg_floats(x)[bt * x.ld + c] += (float)(v->scale * (double)v->x[c]);
    }
}

static bool steer(void *context, tg_acts *a, size_t layer, size_t row)
{
    const tg_steer *s = context;
    const tg_matrix x = tg_acts_row(a, layer, row);

    if (row == TG_ACT_X)
        add(s, a, x, 0);
    else if (a->family->act[row].next)
        add(s, a, x, layer + 1);
    else if (row == a->family->att)
        tg_ablate_silence(a, layer, s->silent, s->n_silent);
    return true;
}

tg_tap tg_steer_tap(const tg_steer *s)
{
    return (tg_tap){steer, (void *)s};
}
