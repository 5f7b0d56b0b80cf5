#include "lib/gpt/layers.h"

/* Run the step at this place, of those forward or backward, and the tap. */
static bool run(tg_step_function *const step[], tg_acts *a, size_t at, const tg_tap *tap)
{
    const size_t layer = at / TG_STEPS_OF_BLOCK;
    const tg_step which = (tg_step)(at % TG_STEPS_OF_BLOCK);

    step[which](a, layer);
    return !tap || tap->after(tap->context, a, layer, which);
}

bool tg_layers_forward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    for (size_t at = from; at < to; at++)
        if (!run(steps->forward, a, at, tap))
            return false;
    return true;
}

bool tg_layers_backward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    for (size_t at = to; at-- > from;)
        if (!run(steps->backward, a, at, tap))
            return false;
    return true;
}
