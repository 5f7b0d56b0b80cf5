#include "lib/gpt/layers.h"

static bool after(const tg_tap *tap, tg_acts *a, size_t layer, tg_step step)
{
    return !tap || tap->after(tap->context, a, layer, step);
}

bool tg_layers_forward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    for (size_t at = from; at < to; at++) {
        const size_t layer = at / TG_STEPS_OF_BLOCK;
        const tg_step step = (tg_step)(at % TG_STEPS_OF_BLOCK);

        steps->forward[step](a, layer);
        if (!after(tap, a, layer, step))
            return false;
    }
    return true;
}

bool tg_layers_backward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    for (size_t at = to; at-- > from;) {
        const size_t layer = at / TG_STEPS_OF_BLOCK;
        const tg_step step = (tg_step)(at % TG_STEPS_OF_BLOCK);

        steps->backward[step](a, layer);
        if (!after(tap, a, layer, step))
            return false;
    }
    return true;
}
