#include "lib/gpt/family.h"

/* Every model is a GPT-2 so far. */
const tg_passes *tg_model_passes(const tg_model *m)
{
    (void)m;
    return &tg_gpt2_passes;
}

const tg_passes64 *tg_model_passes64(const tg_model *m)
{
    (void)m;
    return &tg_gpt2_passes64;
}
