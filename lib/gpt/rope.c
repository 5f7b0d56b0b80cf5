#include "lib/gpt/rope.h"

#include <math.h>

#include "lib/nn/rotary.h"

#define PI 3.14159265358979323846

static double llama3(const tg_config *c, double f)
{
    const double turns = (double)c->rope_ctx * f / (2 * PI);
    const double s = (turns - c->rope_low_freq) / (c->rope_high_freq - c->rope_low_freq);

    if (turns > c->rope_high_freq)
        return f;
    if (turns < c->rope_low_freq)
        return f / c->rope_factor;
    return (1 - s) * f / c->rope_factor + s * f;
}

double tg_rope_frequency(const tg_config *c, bool local, size_t j)
{
    const double theta = local ? c->rope_local_theta : c->rope_theta;
    const double f = pow(theta, -2.0 * (double)j / (double)tg_config_rope_dim(c));

    if (local) /* is not scaled */
        return f;
    switch (c->rope_scaling) {
    case TG_ROPE_PLAIN:
        break;
    case TG_ROPE_LINEAR:
        return f / c->rope_factor;
    case TG_ROPE_LLAMA3:
        return llama3(c, f);
    }
    return f;
}

bool tg_rope_is_local(const tg_config *c, size_t layer)
{
    return c->rope_local_theta > 0 && tg_config_window(c, layer) > 0;
}

tg_matrix tg_rope_angles(const tg_acts *a, size_t layer)
{
    return a->angles[tg_rope_is_local(&a->bound.model->config, layer)];
}

void tg_rope_fill(tg_acts *a)
{
    const size_t past = a->cache ? a->cache->past : 0;

    if (a->angles_past == past + 1 && a->angles_rows >= a->T)
        return;
    for (size_t i = 0; i < 2 && a->angles[i].data; i++)
        for (size_t j = 0; j < a->angles[i].cols / 2; j++)
            tg_rotary_fill(a->angles[i], j, tg_rope_frequency(&a->bound.model->config, i == 1, j), past,
                           a->T);
    a->angles_past = past + 1;
    a->angles_rows = a->T;
}
